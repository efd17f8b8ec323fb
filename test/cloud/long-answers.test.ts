import assert from 'node:assert/strict';
import { readLargeJson } from '../../lib/cloud/http/answer';
import { slowIt } from '../support/suite/lanes';
import { failure, stationOfEachTest } from '../support/service/scripted-station';

/** Bytes: more of JSON is not read at all. */
const MOST = 16 * 1024 * 1024;

function filled(start: string, piece: (n: number) => string, end: string): string {
  const pieces: string[] = [];
  for (let n = 0, length = start.length + end.length; ; n += 1) {
    length += piece(n).length + 1;
    if (length > MOST) return `${start}${pieces.join(',')}${end}`;
    pieces.push(piece(n));
  }
}

describe('an answer of the service of 16 MiB', () => {
  const station = stationOfEachTest();
  const { service } = station;

  for (const [what, piece, test] of [
    ['numbers', (): string => '1', slowIt],
    ['words', (): string => 'null', slowIt],
    ['short texts', (): string => '"a"', slowIt],
    ['empty lists', (): string => '[]', it],
    ['empty objects', (): string => '{}', slowIt],
    ['lists of one number', (): string => '[1]', slowIt],
  ] as const)
    test(`is BAD_RESPONSE where it is a list of ${what}, which would fill the memory`, async () => {
      service.on('GET', '/devices', { text: filled('{"devices":[', piece, ']}') });
      const error = await failure(station.client().listDevices(), 'BAD_RESPONSE');
      assert.match(error.message, /more JSON than can be read/);
    });

  slowIt('is BAD_RESPONSE where it is one object of short names', async () => {
    service.on('GET', '/devices', { text: filled('{', (n) => `"${n.toString(36)}":0`, '}') });
    const error = await failure(station.client().listDevices(), 'BAD_RESPONSE');
    assert.match(error.message, /more JSON than can be read/);
  });

  it('is read where it is a list of cameras with many fields', async () => {
    const fields = JSON.stringify(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`field${n}`, n])));
    const device = (n: number): string => `{"id":"${n}","name":"Camera ${n}","more":${fields}}`;
    service.on('GET', '/devices', { text: filled('{"devices":[', device, ']}') });
    const devices = await station.client().listDevices();
    assert.ok(devices.length > 15_000, `${devices.length}`);
  });
});

describe('a long body', () => {
  const LONG = 'x'.repeat(300_000);
  const DIGITS = '1'.repeat(300_000);
  const NONE = { fault: 'no JSON' };

  for (const [what, text, expected] of [
    ['a text', `"${LONG}"`, { value: LONG }],
    ['an object behind white space', `${' '.repeat(300_000)}{"a":1}`, { value: { a: 1 } }],
    ['a list behind a byte-order mark', `\uFEFF["${LONG}"]`, { value: [LONG] }],
    ['nothing but white space', ' '.repeat(300_000), NONE],
    ['a page, known by its beginning', `<!doctype html>${DIGITS}`, NONE],
    ['a picture, known by its beginning', `ÿØÿà${DIGITS}`, NONE],
    ['a number, known by its beginning', `1${DIGITS}`, NONE],
  ] as const)
    it(`is read as ${'fault' in expected ? 'no JSON' : 'JSON'} where it is ${what}`, async () => {
      assert.deepEqual(await readLargeJson(Buffer.from(text)), expected);
    });
});
