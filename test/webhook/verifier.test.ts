import assert from 'node:assert/strict';
import { Reporter } from '../../lib/webhook/reporter';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import {
  StatelessReceiver,
  type RequestParts,
  type Verification,
} from '../../lib/webhook/receive/stateless-receiver';
import { AGENT_USER, authorizationFor, envelope, PHRASE, station, withToken } from './sample';

const HOUR = 60 * 60 * 1000;

describe('a request that somebody else has received', () => {
  let now: number;
  let lines: string[];
  let verifier: StatelessReceiver;

  beforeEach(() => {
    now = Date.now();
    lines = [];
    verifier = new StatelessReceiver({
      id: 'verify',
      stationOfAgentUser: (agentUserId) => (agentUserId === AGENT_USER ? 'north' : 'south'),
      reporter: new Reporter(
        () => now,
        (line) => lines.push(line),
      ),
      now: () => now,
      steady: () => now,
    });
  });

  function verify(
    body: string | Uint8Array,
    changes: Partial<RequestParts> = {},
    by: ReceivingStation | undefined = station(),
  ): Verification {
    const request = {
      head: { method: 'POST', headers: {} },
      authorization: [authorizationFor(body)],
      body: Buffer.from(body),
      remoteAddress: '192.0.2.7',
      ...changes,
    };
    return verifier.verify(request, by);
  }

  /** Outcome, answer, kind and reason in one line. */
  function summary(verification: Verification): string {
    if (verification.outcome === 'authentic') return `authentic ${verification.answer}`;
    const { kind, reason } = verification.problem;
    const answer = verification.outcome === 'refused' ? [verification.answer] : [];
    return [verification.outcome, ...answer, kind, reason ?? 'null'].join(' ');
  }

  it('is an event without an id of the inbox, the first of its alarm, with the facts about the message', () => {
    const verification = verify(JSON.stringify(envelope({ messageId: 'one' }, { eventClass: 'health' })));
    assert.ok(verification.outcome === 'authentic');
    const { msg } = verification;
    assert.equal(msg.topic, 'health');
    assert.deepEqual(msg.event, msg.payload);
    const { messageId, deliveryId, sequence, attempt, first, ended, proof, station: key } = msg.webhook;
    assert.deepEqual(
      { messageId, deliveryId, sequence, attempt, first, ended, proof, key },
      {
        messageId: 'one',
        deliveryId: null,
        sequence: null,
        attempt: 1,
        first: true,
        ended: false,
        proof: 'hmac',
        key: 'north',
      },
    );
  });

  it('is the same however often it comes: nothing is remembered', () => {
    const body = JSON.stringify(envelope());
    for (let time = 0; time < 3; time++) assert.equal(summary(verify(body)), 'authentic accepted');
  });

  const good = JSON.stringify(envelope());
  const large = 'x'.repeat(1024 * 1024 + 1);
  const oddHead = (headers: Record<string, string>): Partial<RequestParts> => ({
    head: { method: 'POST', headers },
  });
  const cases: [string, () => Verification, string][] = [
    [
      'C-02 no header',
      () => verify(good, { authorization: [] }),
      'refused unauthentic unauthentic no-signature',
    ],
    [
      'C-17 two Authorization lines, both right',
      () => verify(good, { authorization: [authorizationFor(good), authorizationFor(good)] }),
      'refused unauthentic unauthentic bad-signature',
    ],
    [
      'C-35 another body',
      () => verify(good, { body: Buffer.from(`${good} `) }),
      'refused unauthentic unauthentic bad-signature',
    ],
    [
      'C-80 no token',
      () => verify(good, { authorization: [] }, station({ scheme: 'https' })),
      'refused unauthentic unauthentic bad-token',
    ],
    [
      'C-79 the token',
      () => verify(withToken().body, { authorization: [] }, station({ scheme: 'https' })),
      'authentic accepted',
    ],
    [
      'C-106 a coding',
      () => verify(good, oddHead({ 'content-encoding': 'br' })),
      'refused compressed unauthentic compressed',
    ],
    ['C-108 identity', () => verify(good, oddHead({ 'content-encoding': 'Identity' })), 'authentic accepted'],
    ['C-109 a body over 1 MiB', () => verify(large), 'refused large unauthentic large'],
    ['C-109 a body of 1 MiB', () => verify(large.slice(1)), 'refused accepted dead-letter not-json'],
    [
      'another method',
      () => verify(good, { head: { method: 'PUT', headers: {} } }),
      'refused method unauthentic method',
    ],
    ['no bytes', () => verify(good, { body: undefined }), 'unable unauthentic raw-body-missing'],
    ['C-26 no phrase', () => verify(good, {}, station({ secret: ' ' })), 'unable blocked null'],
    [
      'C-136 a phrase whose variable is not set',
      () => verify(good, { authorization: [authorizationFor(good, '${S}')] }, station({ secret: '${S}' })),
      'unable blocked null',
    ],
    ['C-110 a key twice', () => verify('{"a":1,"a":2}'), 'refused accepted dead-letter duplicate-key'],
    [
      'C-115 no UTF-8',
      () => verify(Buffer.from([0x22, 0xff, 0x22])),
      'refused accepted dead-letter not-utf8',
    ],
    [
      'C-73 no messageId',
      () => verify(JSON.stringify(envelope({ messageId: null }))),
      'refused accepted dead-letter no-message-id',
    ],
    [
      'C-96 Agent User of another station',
      () =>
        verify(
          JSON.stringify(envelope({}, { agentUserId: 'other' })),
          {},
          station({ agentUserId: AGENT_USER }),
        ),
      'refused accepted dead-letter agent-user',
    ],
    [
      'C-120 unknown type',
      () => verify(JSON.stringify(envelope({ payloadType: 'Hello' }))),
      'refused accepted other null',
    ],
  ];
  for (const [title, run, expected] of cases) {
    it(`${title}: ${expected}`, () => assert.equal(summary(run()), expected));
  }

  it('is stale when it was sent more than 26 h ago, once the clock is confirmed', () => {
    verify(JSON.stringify(envelope()));
    const transmitTime = new Date(now - 27 * HOUR).toISOString();
    const verification = verify(JSON.stringify(envelope({ transmitTime })));
    assert.equal(summary(verification), 'refused accepted stale too-old');
  });

  it('is told of as a problem, with the event only where it is authentic', () => {
    const body = JSON.stringify(envelope({ payloadType: 'Hello', messageId: 'two' }));
    const proven = verify(body);
    const unproven = verify(body, { authorization: [] });
    assert.ok(proven.outcome === 'refused' && unproven.outcome === 'refused');
    const expected = {
      station: 'north',
      stationName: 'North Station',
      receivedTime: new Date(now).toISOString(),
      remoteAddress: '192.0.2.7',
      bytes: body.length,
      count: 1,
    };
    assert.deepEqual(unproven.problem, { ...expected, kind: 'unauthentic', reason: 'no-signature' });
    const { event, ...problem } = proven.problem;
    const known = { messageId: 'two', alarmId: event?.alarmId };
    assert.deepEqual(problem, { ...expected, ...known, kind: 'other', reason: null });
  });

  it('C-92 C-93 is proven by the previous phrase as long as that is kept', () => {
    const renewed = station({ secret: 'the new phrase', previousSecret: PHRASE });
    const verification = verify(JSON.stringify(envelope()), {}, renewed);
    assert.ok(verification.outcome === 'authentic');
    assert.equal(verification.msg.webhook.secret, 'previous');
    const later = verify(JSON.stringify(envelope()), {}, { ...renewed, previousSecret: '' });
    assert.equal(summary(later), 'refused unauthentic unauthentic bad-signature');
  });

  it('C-85 C-100 burns a phrase that it brings in clear text, and holds it nowhere', () => {
    const verification = verify(withToken().body, { authorization: [] });
    assert.equal(summary(verification), 'refused unauthentic unauthentic no-signature');
    assert.match(lines.join('\n'), /clear text: change it/);
    const proven = verify(withToken({ messageId: 5 }).body, {}, station({ scheme: 'https' }));
    assert.equal(summary(proven), 'refused accepted dead-letter no-message-id');
    assert.equal(JSON.stringify([verification, proven, lines]).includes(PHRASE), false);
  });
});
