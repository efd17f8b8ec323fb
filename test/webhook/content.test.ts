import assert from 'node:assert/strict';
import { messageOf } from '../../lib/message/event-message';
import { authorizationFor, envelope, PHRASE, signed, station, withToken } from './sample';
import { InlineInbox } from '../support/inbox/each-store';
import { PATIENCE } from '../support/time/patience';
import { ReceiverUnderTest } from './receiver-under-test';

const textOf = (...changes: Parameters<typeof envelope>): string => JSON.stringify(envelope(...changes));

const many = (value: unknown, count = 1001): unknown[] => Array.from({ length: count }, () => value);

const manyFields = Object.fromEntries(many(0).entries());

const nesting = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('content of a proven message', () => {
  let receiver: ReceiverUnderTest;
  let inbox: InlineInbox;
  beforeEach(async () => {
    inbox = new InlineInbox();
    receiver = await ReceiverUnderTest.start({ inbox, holdMs: PATIENCE });
  });
  afterEach(() => receiver.close());

  async function takes(body: string | Uint8Array, headers?: Record<string, string>): Promise<void> {
    await receiver.takes({ body, headers: { Authorization: authorizationFor(body), ...headers } });
  }

  async function accept(body: string): Promise<ReturnType<typeof messageOf>> {
    const before = receiver.deliveries.length;
    await takes(body);
    await receiver.delivered(before + 1);
    return messageOf(receiver.deliveries.at(-1) ?? assert.fail(), new Date());
  }

  async function keepsAsDeadLetter(body: string | Uint8Array, reason: string): Promise<void> {
    await takes(body);
    await receiver.until(() => receiver.problems.length > 0, 'a problem');
    const found = receiver.problems.map((problem) => `${problem.kind} ${problem.reason}`);
    assert.deepEqual(found, [`dead-letter ${reason}`]);
    assert.deepEqual([receiver.deliveries.length, inbox.deadLetters().length], [0, 1]);
  }

  const charsets = ['UTF-8', 'utf-16', 'latin1', 'bogus'].map((name) => `application/json; charset=${name}`);
  const forms = ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'];
  for (const type of ['application/json', ...charsets, 'text/plain', 'plain/text', ...forms])
    it(`T-22 C-103 C-104 C-105 takes the content type ${type}`, async () => {
      await takes(signed().body, { 'Content-Type': type });
      await receiver.delivered(1);
    });

  const deadLetters: [string, string | Uint8Array, string][] = [
    ['C-24 an empty body', '', 'not-json'],
    ['C-24 a body of white space', ' \n ', 'not-json'],
    ['C-105 a form', 'a=1&b=2', 'not-json'],
    ['C-110 alarmId twice', textOf().replace('"alarmId"', '"alarmId":"x","alarmId"'), 'duplicate-key'],
    ['C-110 payload twice', textOf().replace('"payload"', '"payload":{},"payload"'), 'duplicate-key'],
    ['C-110 a key twice, once in escapes', '{"messageId":"a","message\\u0049d":"b"}', 'duplicate-key'],
    ['C-110 both spellings that differ', textOf({}, { alarmId: 'a', AlarmId: 'b' }), 'duplicate-key'],
    ['C-112 nesting of 33 levels', nesting(33), 'too-deep'],
    ['C-112 nesting of 10,000 levels', nesting(10_000), 'too-deep'],
    ['C-112 nesting of 500,000 levels', nesting(500_000), 'too-deep'],
    ['C-109 more than a thousand values', textOf({ more: many(0) }), 'too-large'],
    ['C-109 more than a thousand empty objects', textOf({ more: many({}) }), 'too-large'],
    ['C-109 more than a thousand objects of one', textOf({ more: many({ a: 1 }) }), 'too-large'],
    ['C-109 more than a thousand empty lists', textOf({ more: many([]) }), 'too-large'],
    ['C-109 more than a thousand fields', textOf({ more: manyFields }), 'too-large'],
    ['C-115 the byte FF', Buffer.from('{"a":"\xff"}', 'latin1'), 'not-utf8'],
    ['C-115 an overlong form', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'not-utf8'],
    ['C-115 surrogate bytes', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'not-utf8'],
    ['C-118 bytes after the JSON', `${textOf()}x`, 'not-json'],
    ['C-118 two documents', `${textOf()}{}`, 'not-json'],
    ['C-118 a comment', '{/* */}', 'not-json'],
    ['C-118 NaN', '{"a":NaN}', 'not-json'],
    ['C-118 single quotes', "{'a':1}", 'not-json'],
    ['C-113 a number with a leading zero', '{"a":01}', 'not-json'],
    ['C-119 an array', '[]', 'not-json'],
    ['C-119 a text', '"text"', 'not-json'],
    ['C-119 a number', '5', 'not-json'],
    ['C-119 null', 'null', 'not-json'],
    ['a payload that is no object', textOf({ payload: 'text' }), 'not-json'],
    ['a payload type that is no text', textOf({ payloadType: 5 }), 'not-json'],
    ['C-73 no messageId', textOf({ messageId: undefined }), 'no-message-id'],
    ['C-73 an empty messageId', textOf({ messageId: '' }), 'no-message-id'],
    ['C-73 messageId null', textOf({ messageId: null }), 'no-message-id'],
    ['C-73 a number as messageId', textOf({ messageId: 5 }), 'no-message-id'],
    ['C-73 a messageId above 512 characters', textOf({ messageId: 'm'.repeat(513) }), 'no-message-id'],
  ];
  for (const [title, body, reason] of deadLetters)
    it(`${title} is acknowledged and kept as a dead letter`, () => keepsAsDeadLetter(body, reason));

  const ids = ["'; drop table", ' spaced ', 'UPPER', 'a\u0000b', 'line\nfeed', 'm'.repeat(512), 'é'];
  for (const messageId of ids)
    it(`C-73 takes the messageId ${JSON.stringify(messageId.slice(0, 16))} literally`, async () => {
      const { msg } = await accept(textOf({ messageId }));
      assert.equal(msg.webhook.messageId, messageId);
    });

  const unnamed = ['2026-01-01T00:00:00Z', new Date().toISOString()].map((transmitTime) =>
    textOf({ messageId: undefined, payload: { alarmId: 'one' }, transmitTime }),
  );
  for (const [title, bodies, reasons] of [
    ['C-73 tells a resend without an id by its payload', unnamed, ['no-message-id']],
    [
      'C-119 keeps different documents that have neither an id nor a payload',
      ['{"a":1}', '{"a":2}', '{"a":1}'],
      ['not-json', 'not-json'],
    ],
  ] as const)
    it(title, async () => {
      for (const body of bodies) await takes(body);
      await accept(signed().body);
      assert.deepEqual(receiver.reasons(), reasons);
    });

  it('C-111 strips keys that reach into prototypes, in escapes too', async () => {
    const text = textOf();
    const hostile = '"\\u005f_proto__":{"polluted":true},"constructor":{"prototype":{}}';
    const { msg } = await accept(text.replace('"eventName"', `${hostile},"eventName"`));
    assert.ok(msg.webhook.warnings.includes('keys-stripped'));
    for (const key of ['__proto__', 'constructor']) assert.equal(Object.hasOwn(msg.payload, key), false);
    assert.equal(Reflect.get({}, 'polluted'), undefined);
  });

  it('C-109 takes hundreds of values', () => accept(textOf({}, { more: many(0, 900) })));

  it('C-112 takes nesting of 32 levels', async () => {
    const nested: unknown = JSON.parse(nesting(30));
    const { msg } = await accept(textOf({}, { nested }));
    assert.deepEqual(msg.payload['nested'], nested);
  });

  it('C-113 keeps numbers that JavaScript cannot hold as text', async () => {
    const numbers = '"a":1e400,"b":9007199254740993,"c":-0,"d":1E+2,"e":[1e400,0.5],"f":"1e400"';
    const { msg } = await accept(textOf({}, { a: 1 }).replace('"a":1', numbers));
    const { a, b, c, d, e, f } = msg.payload;
    assert.deepEqual([a, b, c, d, e, f], ['1e400', '9007199254740993', -0, 100, ['1e400', 0.5], '1e400']);
    assert.deepEqual(msg.webhook.warnings, ['number-as-text']);
  });

  it('C-114 survives a lone surrogate in a name', async () => {
    const body = textOf({}, { cameraName: 'NAME' }).replace('NAME', '\\ud800 gate');
    const { msg } = await accept(body);
    assert.equal(msg.webhook.text.includes('\ud800'), false);
    assert.match(msg.webhook.text, /gate/);
  });

  it('C-116 keeps odd characters in the data and out of the text', async () => {
    const locationName = 'A\u0000\r\nB\u001b[31m\u202eC';
    const { msg } = await accept(textOf({}, { locationName }));
    assert.equal(msg.payload.locationName, locationName);
    assert.match(msg.webhook.text, /- A B C \/ Gate 1 -/);
    const long = await accept(textOf({}, { locationName: 'x'.repeat(900_000) }));
    assert.ok(long.msg.webhook.text.length <= 160);
  });

  const longUri = `https://x.example/${'y'.repeat(3000)}`;
  for (const [title, field, value, ...warnings] of [
    ['C-117 passes on names as plain text', 'cameraName', '<script>alert(1)</script> =cmd {{x}}'],
    ...['file:///etc/passwd', 'http://169.254.169.254/', 'not a url', longUri].map((uri) => {
      const what = `C-123 passes on the clip address ${uri.slice(0, 24)} with a warning`;
      return [what, 'clipUri', uri, 'clip-uri'] as const;
    }),
  ] as const)
    it(title, async () => {
      const { msg } = await accept(textOf({}, { [field]: value }));
      assert.equal(msg.payload[field], value);
      assert.deepEqual(msg.webhook.warnings, warnings);
    });

  it('C-120 T-23 an unknown payload type is acknowledged and leaves output 3', async () => {
    const body = JSON.stringify({ payloadType: 'HELLO', messageId: 'h-1', payload: { a: 1 } });
    await takes(body);
    await takes(body);
    await accept(signed().body);
    const [{ kind, reason, messageId, event } = assert.fail(), ...others] = receiver.problems;
    assert.deepEqual([kind, reason, messageId, event, others], ['other', null, 'h-1', { a: 1 }, []]);
  });

  for (const [eventClass, eventType, output] of [
    ['weather', 'health', 0],
    ['health', 'ObjectEnters', 1],
    ['Health', 'ObjectEnters', 0],
  ] as const)
    it(`C-120 an event of class ${eventClass} and type ${eventType} leaves output ${output + 1}`, async () => {
      const event = await accept(textOf({}, { eventClass, eventType, cameraId: null }));
      assert.deepEqual([event.output, event.msg.topic], [output, eventClass]);
    });

  for (const [version, isUnusual] of [
    ['2.0.0', true],
    ['1.9.0', false],
    [undefined, true],
    ['10.0.0', true],
  ] as const)
    it(`C-121 version ${version ?? 'absent'} ${isUnusual ? 'brings a warning' : 'is usual'}`, async () => {
      const { msg } = await accept(textOf({ version }));
      assert.equal(msg.webhook.warnings.includes('unusual-version'), isUnusual);
    });

  it('C-121 T-23 takes field names with a capital first letter and gives them the names of the specification', async () => {
    const inCapitals = textOf({ messageId: 'm' }, { unknownField: 1 }).replace(
      /"([a-z])(?=\w*":)/g,
      (_, letter: string) => `"${letter.toUpperCase()}`,
    );
    const { msg } = await accept(inCapitals);
    const { version, Version, cameraName, UnknownField } = msg.payload;
    assert.deepEqual([version, Version, cameraName, UnknownField], ['1.0.0', undefined, 'Gate 1', 1]);
    assert.equal(msg.webhook.messageId, 'm');
  });

  it('C-122 T-25 keeps unknown fields, missing and null ones, and ids of any form', async () => {
    const known = { messageId: 'm', payloadType: 'BlueEvent', version: '1.0.0' };
    const payload = { cameraId: null, extra: [1] };
    const { msg, output } = await accept(JSON.stringify({ ...known, payload }));
    assert.deepEqual([msg.payload, output], [payload, 0]);
    assert.partialDeepStrictEqual(msg.webhook, { startTime: null, ageSeconds: null, late: false });
  });

  it('C-101 lets no piece of the phrase leave by an error of the JSON parser', async () => {
    const broken = `{"authenticationToken":"${PHRASE}" ${PHRASE}`;
    assert.throws(() => JSON.parse(PHRASE), { message: new RegExp(PHRASE.slice(0, 10)) });
    for (const body of [broken, PHRASE, `"${PHRASE}`]) {
      for (const scheme of ['http', 'https'] as const) {
        receiver.stations = [station({ scheme })];
        const proven = await receiver.post({ body, headers: { Authorization: authorizationFor(body) } });
        const unproven = await receiver.post({ body });
        assert.equal(unproven.status, 401);
        const told = JSON.stringify([proven, unproven, receiver.problems, receiver.lines]);
        for (const word of ['seven', 'otters', 'cross'])
          assert.ok(!told.includes(word), `${word} in ${told}`);
      }
    }
    assert.ok(receiver.reasons().includes('not-json'));
  });

  it('C-102 blanks a token that is an array or an object, and the rest can still be read', async () => {
    for (const authenticationToken of [[PHRASE], { a: { b: [PHRASE] } }])
      await receiver.takes(signed({ authenticationToken }));
    await receiver.delivered(2);
    for (const { message } of receiver.deliveries) {
      const kept = Buffer.from(message.body).toString();
      assert.equal(kept.includes(PHRASE), false);
      assert.partialDeepStrictEqual(JSON.parse(kept), { authenticationToken: '***' });
    }
  });

  it('C-100 C-102 lets no token leave: not in the message, not in the problem, not in what is kept', async () => {
    receiver.stations = [station({ scheme: 'https', agentUserId: 'mine' })];
    await receiver.takes(withToken(), withToken({ messageId: '' }));
    await receiver.delivered(1);
    await receiver.until(() => receiver.problems.length === 1, 'the dead letter');
    const [delivery] = receiver.deliveries;
    assert.ok(delivery);
    const bodies = [delivery.message, ...inbox.deadLetters()].map(({ body }) => Buffer.from(body).toString());
    const everything = [messageOf(delivery, new Date()), receiver.problems, receiver.lines, bodies];
    assert.equal(JSON.stringify(everything).includes(PHRASE), false);
    assert.equal(JSON.stringify(delivery.message.event).includes('authenticationToken'), false);
  });

  const unreadable = ['yesterday', 12345, '', null, '0001-01-01T00:00:00'];
  for (const time of ['20260304T050607Z', '2026-03-04T24:00:00', ...unreadable])
    it(`T-24 C-71 gives no event up for the time ${JSON.stringify(time)}`, async () => {
      const { msg } = await accept(textOf({}, { eventStartTime: time, eventEndTime: time }));
      assert.equal(msg.payload.eventStartTime, time);
    });

  for (const transmitTime of [...unreadable, undefined])
    it(`C-71 gives no event up for the transmit time ${JSON.stringify(transmitTime)}`, async () => {
      const { msg } = await accept(textOf({ transmitTime }));
      assert.deepEqual(msg.webhook.warnings, ['time-unreadable']);
    });
});
