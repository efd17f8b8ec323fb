import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { unverifiedTexts } from '../../lib/webhook/prover';
import { assertCost } from '../support/time/event-loop';
import { envelope } from './sample';

const seeming = (text: string, most = 4): string[] => unverifiedTexts(Buffer.from(text), 'alarmId', most);

describe('a field of bytes that nobody has proved', () => {
  const cases: [title: string, text: string, found: string[]][] = [
    ['is found in a message', JSON.stringify(envelope({}, { alarmId: 'one' })), ['one']],
    ['is found with a capital first letter', '{"AlarmId":"one"}', ['one']],
    ['is found with white space around the colon', '{ "alarmId" \r\n\t: "one" }', ['one']],
    ['is found wherever it stands, in order', '{"a":{"alarmId":"one"},"alarmId":"two"}', ['one', 'two']],
    ['is read with its escapes', String.raw`{"alarmId":"\u006f\"ne"}`, ['o"ne']],
    ['is read as UTF-8', '{"alarmId":"Ünö"}', ['Ünö']],
    ['is not what stands inside of a text', JSON.stringify({ note: '"alarmId":"one"' }), []],
    ['is not a field of another name', '{"alarmIds":"one","xalarmId":"two","alarmTenantId":"three"}', []],
    ['is not what is no text', '{"alarmId":1,"AlarmId":null}', []],
    ['is not what has no end', '{"alarmId":"one', []],
    ['is not a text that is no JSON', '{"alarmId":"a\nb"}', []],
    ['is not a text that is far longer than any id', `{"alarmId":"${'x'.repeat(257)}"}`, []],
  ];
  for (const [title, text, found] of cases) it(title, () => assert.deepEqual(seeming(text), found));

  it('is found behind bytes that are no UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xc3]), Buffer.from('{"alarmId":"one"}')]);
    assert.deepEqual(unverifiedTexts(bytes, 'alarmId', 1), ['one']);
  });

  it('is looked for so many times and no more', () => {
    assert.deepEqual(seeming('"alarmId":"one" '.repeat(1000), 3), ['one', 'one', 'one']);
    assert.deepEqual(seeming(`${'"alarmId":"\n" '.repeat(3)}"alarmId":"one"`, 3), []);
  });

  for (const [shape, piece] of [
    ['values that are too long', `"alarmId":"${'x'.repeat(257)}`],
    ['values of escapes that are too long', `"alarmId":"${String.raw`\n`.repeat(257)}`],
    ['blanks around colons', '"alarmId"        :        "'],
    ['blanks where a colon should be', '"alarmId"        '],
  ] as const)
    it(`is looked for in 1 MiB of ${shape} in little more than the time of a hash`, async () => {
      const body = Buffer.alloc(1024 * 1024, piece);
      const hash = (): unknown => createHmac('sha256', 'key').update(body).digest();
      await assertCost(() => unverifiedTexts(body, 'alarmId', 16), 3, hash, 30);
    });

  it('is looked for in any bytes without an exception', () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void unverifiedTexts(bytes, 'agentUserId', 2)));
    fc.assert(fc.property(fc.string(), (text) => void seeming(`"alarmId":"${text}`)));
  });
});
