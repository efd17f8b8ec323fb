import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { redactedBody, fingerprintOfValue, readJson, unverifiedToken } from '../../lib/message/body';
import { matchingPath } from '../../lib/webhook/endpoint';
import { summaryText } from '../../lib/message/event-message';
import { LogThrottle } from '../../lib/webhook/rate-limits';
import { readTime } from '../../lib/time';
import { runsOf } from '../support/suite/lanes';
import { assertCost } from '../support/time/event-loop';

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
  for (const [text, expected] of readable) {
    it(`T-24 C-71 reads ${text}`, () => assert.equal(readTime(text)?.toISOString(), expected));
  }

  const unreadable = [
    '0001-01-01T00:00:00',
    '0001-01-02T00:00:00',
    '0000-01-01T00:00:00',
    '1969-12-31T23:59:59',
    'yesterday',
    '',
    '2026-13-01T00:00:00',
    '2026-02-30T00:00:00',
    '2026-03-04T25:00:00',
    '2026-03-04T24:00:01',
    '2026-03-04T05:60:00',
    1_772_600_767_000,
    null,
    undefined,
    {},
  ];
  for (const value of unreadable) {
    it(`C-71 reads nothing from ${JSON.stringify(value)}`, () => assert.equal(readTime(value), undefined));
  }

  it('reads any text without an exception', () => {
    fc.assert(fc.property(fc.string(), (text) => void readTime(text)));
  });
});

describe('reading of JSON before it is trusted', () => {
  it('agrees with the parser about every ordinary document', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), fc.nat(3), (value, indent) => {
        fc.pre(!/"(?:__proto__|constructor)"/.test(JSON.stringify(value)));
        const text = JSON.stringify(value, null, indent);
        const reading = readJson(Buffer.from(text));
        assert.equal(reading.problem, undefined);
        if (!reading.numberAsText) assert.deepEqual(reading.value, JSON.parse(text));
      }),
    );
  });

  it('survives any bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void readJson(bytes)));
  });

  it('survives any text of JSON characters', () => {
    const characters = fc.constantFrom(...'{}[]":,\\0123456789.eE+-tfnu "authenticationToken"'.split(''));
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 80 }), (text) => {
        const { problem } = readJson(Buffer.from(text));
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        assert.equal(problem === 'not-json', !isJson);
      }),
      { numRuns: runsOf(2000) },
    );
  });

  for (const [shape, piece, start] of [
    ['keys with broken escapes', '"\\q":', '{'],
    ['keys with escapes', '"\\n":', '{'],
    ['keys with escapes and raw tabs', '"\\n\t":', '{'],
    ['numbers out of range', '1e400,', '['],
    ['brackets', '[', ''],
    ['quotes', '"', ''],
    ['line feeds', '\n', ''],
    ['token fields', '"authenticationToken":1,', '{'],
  ] as const) {
    it(`takes a time that grows with the length of ${shape} alone`, async () => {
      const hostile = (bytes: number): Buffer => Buffer.from((start + piece.repeat(bytes)).slice(0, bytes));
      const [short, long] = [hostile(32_768), hostile(1_048_576)];
      readJson(short);
      // 32 times the length: a time that grows with its square is a thousand times as long.
      await assertCost(
        () => readJson(long),
        200,
        () => readJson(short),
        1,
      );
    });
  }

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
  ] as const) {
    it(`ends at too many ${shape}`, () => {
      const text = start + Array.from({ length: 5000 }, (_, n) => piece(n)).join('');
      assert.equal(readJson(Buffer.from(text)).problem, 'too-large');
    });
  }

  for (const [shape, documentOf] of [
    ['in one object', (count: number) => `{${named(count, () => '"x"')}}`],
    ['in one list', (count: number) => `[${Array.from({ length: count }, () => 'null').join(',')}]`],
    [
      'in objects of one',
      (count: number) => `[${Array.from({ length: count / 3 }, () => '{"a":1}').join(',')},1]`,
    ],
    ['that are empty objects', (count: number) => `{${named(count / 2, () => '{}')}}`],
    [
      'that are empty lists',
      (count: number) => `[${Array.from({ length: count / 2 }, () => '[]').join(',')}]`,
    ],
  ] as const) {
    it(`reads hundreds of values ${shape}, but no thousands`, () => {
      assert.equal(readJson(Buffer.from(documentOf(999))).problem, undefined);
      assert.equal(readJson(Buffer.from(documentOf(3003))).problem, 'too-large');
    });
  }

  it('finds of many token fields the first ones, and lets nothing behind them be kept', () => {
    const body = Buffer.from(`{"a":1${',"authenticationToken":"secret"'.repeat(10_000)}}`);
    const reading = readJson(body);
    assert.equal(reading.token.kind, 'unusable');
    assert.ok(reading.token.spans.length < 20, `${reading.token.spans.length}`);
    const kept = Buffer.from(redactedBody(body, reading)).toString();
    assert.match(kept, /^\{"a":1(?:,"authenticationToken":"\*\*\*")+$/);
  });

  it('finds the token that the parser finds, however its name is written, and no other', () => {
    const names = fc.constantFrom(
      'authenticationToken',
      'AuthenticationToken',
      'authenticationtoken',
      'other',
    );
    const values = fc.oneof(fc.string(), fc.constantFrom('', 'a phrase'), fc.jsonValue({ maxDepth: 2 }));
    const members = fc.array(fc.tuple(names, values), { maxLength: 4 });
    const escaped = (name: string, from: number): string =>
      name
        .split('')
        .map((letter, place) =>
          place >= from && place < from + 3
            ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
            : letter,
        )
        .join('');
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

  it('finds a name twice however it is escaped', () => {
    for (const text of ['{"a":1,"\\u0061":2}', '{"x":{"\\u0062":1,"b":2}}', '{"\\\\":1,"\\u005c":2}'])
      assert.equal(readJson(Buffer.from(text)).problem, 'duplicate-key', text);
    assert.equal(readJson(Buffer.from('{"a\\\\":1,"a":2}')).problem, undefined);
  });

  it('takes a token from a field whose name is escaped', () => {
    const text = '{"\\u0061uthenticationToken":"se\\u0063ret"}';
    assert.equal(readJson(Buffer.from(text)).token.text, 'secret');
  });

  it('gives a payload the same fingerprint in any order of its keys', () => {
    assert.equal(
      fingerprintOfValue({ a: 1, b: { c: [1, 2], d: null } }),
      fingerprintOfValue({ b: { d: null, c: [1, 2] }, a: 1 }),
    );
    assert.notEqual(fingerprintOfValue({ a: [1, 2] }), fingerprintOfValue({ a: [2, 1] }));
  });
});

/** So many members of an object, each with a name of its own. */
function named(count: number, value: () => string): string {
  return Array.from({ length: count }, (_, n) => `"${n}":${value()}`).join(',');
}

describe('path of a request', () => {
  for (const [target, path] of [
    ['/a/b', '/a/b'],
    ['/a/b/', '/a/b'],
    ['/a/b//', '/a/b/'],
    ['/a/b?c=/d/', '/a/b'],
    ['http://host:1/a/b/?x', '/a/b'],
    ['/', '/'],
    ['*', '*'],
  ] as const) {
    it(`C-97 of ${target} is ${path}`, () => assert.equal(matchingPath(target), path));
  }
});

describe('the one line about an event', () => {
  const event = {
    eventClass: 'security',
    eventName: 'Intrusion',
    locationName: 'Harbour Depot',
    cameraName: 'Gate 1',
    eventStartTime: '2026-03-04T05:06:07.123',
  };

  it('says what, where and when', () => {
    assert.equal(
      summaryText(event, false),
      'ALARM Intrusion - Harbour Depot / Gate 1 - 2026-03-04 05:06:07Z',
    );
  });

  it('starts with SANDBOX for an event of the sandbox', () => {
    assert.equal(
      summaryText(event, true),
      'SANDBOX ALARM Intrusion - Harbour Depot / Gate 1 - 2026-03-04 05:06:07Z',
    );
  });

  it('tells health events and ends', () => {
    const ended = { ...event, eventClass: 'health', eventEndTime: '2026-03-04T05:07:00' };
    assert.equal(
      summaryText(ended, false),
      'HEALTH END Intrusion - Harbour Depot / Gate 1 - 2026-03-04 05:07:00Z',
    );
  });

  it('adds no character of its own that an SMS has no room for', () => {
    const text = summaryText({ ...event, eventName: 'x'.repeat(200), cameraName: 'y'.repeat(200) }, false);
    assert.match(text, /^[ -~]{1,160}$/);
  });

  it('does without what is absent', () => assert.equal(summaryText({}, false), 'ALARM'));

  it('is one clean line of at most 160 characters for any names', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary', minLength: 100 }),
        (name, place) => {
          const text = summaryText(
            { ...event, eventName: name, locationName: place, cameraName: place },
            true,
          );
          assert.ok(text.length <= 160);
          assert.doesNotMatch(text, /[\p{Cc}\p{Cf}\p{Cs}]/u);
          assert.match(text, /^SANDBOX ALARM.* - 2026-03-04 05:06:07Z$/);
        },
      ),
    );
  });
});

describe('a throttle', () => {
  it('lets one pass in a period and counts the rest', () => {
    let now = 0;
    const throttle = new LogThrottle(10, () => now);
    assert.deepEqual([throttle.pass('a'), throttle.pass('a'), throttle.pass('b')], [1, 0, 1]);
    now = 10;
    assert.deepEqual([throttle.pass('a'), throttle.pass('a')], [2, 0]);
  });
});
