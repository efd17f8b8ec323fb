import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { AgingMap } from '../../lib/inbox/aging-map';
import type { Delivery, ProvenMessage } from '../../lib/inbox/inbox';
import { MemoryInbox } from '../../lib/inbox/memory-inbox';
import { fingerprintOfValue } from '../../lib/webhook/fingerprint';
import { readJson } from '../../lib/webhook/json-reading';
import { messageOf } from '../../lib/webhook/message';
import { matchingPath } from '../../lib/webhook/path';
import { summaryText } from '../../lib/webhook/summary-text';
import { Throttle } from '../../lib/webhook/throttle';
import { readTime } from '../../lib/webhook/time';

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
      { numRuns: 2000 },
    );
  });

  it('gives a payload the same fingerprint in any order of its keys', () => {
    assert.equal(
      fingerprintOfValue({ a: 1, b: { c: [1, 2], d: null } }),
      fingerprintOfValue({ b: { d: null, c: [1, 2] }, a: 1 }),
    );
    assert.notEqual(fingerprintOfValue({ a: [1, 2] }), fingerprintOfValue({ a: [2, 1] }));
  });
});

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
      'ALARM Intrusion – Harbour Depot / Gate 1 – 2026-03-04 05:06:07Z',
    );
  });

  it('starts with SANDBOX for an event of the sandbox', () => {
    assert.equal(
      summaryText(event, true),
      'SANDBOX ALARM Intrusion – Harbour Depot / Gate 1 – 2026-03-04 05:06:07Z',
    );
  });

  it('tells health events and ends', () => {
    const ended = { ...event, eventClass: 'health', eventEndTime: '2026-03-04T05:07:00' };
    assert.equal(
      summaryText(ended, false),
      'HEALTH END Intrusion – Harbour Depot / Gate 1 – 2026-03-04 05:07:00Z',
    );
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
          assert.match(text, /^SANDBOX ALARM.* – 2026-03-04 05:06:07Z$/);
        },
      ),
    );
  });
});

describe('the memory of the process', () => {
  function message(messageId: string, changes: Partial<ProvenMessage> = {}): ProvenMessage {
    return {
      kind: 'event',
      endpointId: 'e',
      stationKey: 'north',
      stationName: 'North',
      sandbox: false,
      receivedTime: '2026-03-04T05:06:07.000Z',
      fingerprint: 'f',
      body: Buffer.from('{}'),
      proof: 'hmac',
      secret: 'current',
      envelope: {
        messageId,
        payloadType: 'BlueEvent',
        version: '1.0.0',
        transmitTime: null,
        logCorrelationId: null,
      },
      event: { alarmId: messageId },
      warnings: [],
      ...changes,
    };
  }
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

  it('keeps events for a consumer that comes afterwards', async () => {
    const inbox = new MemoryInbox();
    await inbox.accept(message('a'));
    await turn();
    const seen: Delivery[] = [];
    inbox.consume('e', (delivery) => seen.push(delivery));
    await turn();
    assert.deepEqual(
      seen.map(({ message, attempt }) => [message.envelope.messageId, attempt]),
      [['a', 1]],
    );
  });

  it('gives events to the consumer of now', async () => {
    const inbox = new MemoryInbox();
    const seen: string[] = [];
    const first = inbox.consume('e', () => seen.push('first'));
    inbox.consume('e', () => seen.push('second'));
    first();
    await inbox.accept(message('a'));
    await turn();
    assert.deepEqual(seen, ['second']);
  });

  it('keeps endpoints apart', async () => {
    const inbox = new MemoryInbox();
    const seen: string[] = [];
    inbox.consume('other', () => seen.push('other'));
    await inbox.accept(message('a'));
    await turn();
    assert.deepEqual(seen, []);
  });

  it('goes on after a consumer that threw', async () => {
    const lines: string[] = [];
    const inbox = new MemoryInbox({ log: (line) => lines.push(line) });
    const seen: string[] = [];
    inbox.consume('e', ({ message }) => {
      seen.push(message.envelope.messageId);
      throw new Error('broken flow');
    });
    await inbox.accept(message('a'));
    await inbox.accept(message('b'));
    await turn();
    assert.deepEqual(seen, ['a', 'b']);
    assert.equal(lines.length, 2);
  });

  it('accepts nothing beyond what may wait, and nothing once it is closed', async () => {
    const inbox = new MemoryInbox({ maxWaiting: 1 });
    await inbox.accept(message('a'));
    await assert.rejects(inbox.accept(message('b')), { code: 'STORE_FAILED' });
    assert.equal((await inbox.accept(message('a'))).outcome, 'repeat');
    await inbox.close();
    await assert.rejects(inbox.accept(message('c')), { code: 'STORE_FAILED' });
  });

  it('gives a repeat the id of its first copy', async () => {
    const inbox = new MemoryInbox();
    const first = await inbox.accept(message('a'));
    const repeat = await inbox.accept(message('a'));
    const conflict = await inbox.accept(message('a', { fingerprint: 'g' }));
    assert.equal(repeat.deliveryId, first.deliveryId);
    assert.deepEqual([first.outcome, repeat.outcome, conflict.outcome], ['new', 'repeat', 'conflict']);
    assert.notEqual(conflict.deliveryId, first.deliveryId);
  });

  it('forgets by age of a clock that never jumps, and by number, the oldest first', () => {
    let now = 0;
    const map = new AgingMap<number>(2, 100, () => now);
    map.set('a', 1);
    map.set('b', 2);
    map.set('c', 3);
    assert.deepEqual([map.get('a'), map.get('b'), map.get('c')], [undefined, 2, 3]);
    now = 101;
    assert.equal(map.get('c'), undefined);
    assert.equal(map.size, 0);
  });

  it('hands every message on as a copy of its own', async () => {
    const inbox = new MemoryInbox();
    const seen: Delivery[] = [];
    inbox.consume('e', (delivery) => seen.push(delivery));
    await inbox.accept(message('a'));
    await turn();
    const [delivery] = seen;
    assert.ok(delivery);
    const { msg } = messageOf(delivery, new Date());
    msg.payload.alarmId = 'changed';
    assert.deepEqual([msg.event.alarmId, delivery.message.event.alarmId], ['a', 'a']);
  });
});

describe('a throttle', () => {
  it('lets one pass in a period and counts the rest', () => {
    let now = 0;
    const throttle = new Throttle(10, () => now);
    assert.deepEqual([throttle.pass('a'), throttle.pass('a'), throttle.pass('b')], [1, 0, 1]);
    now = 10;
    assert.deepEqual([throttle.pass('a'), throttle.pass('a')], [2, 0]);
  });
});
