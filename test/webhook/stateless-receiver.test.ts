import assert from 'node:assert/strict';
import { Reporter } from '../../lib/webhook/reporter';
import { ProofThread } from '../../lib/webhook/proof/proof-thread';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import {
  StatelessReceiver,
  type RequestParts,
  type Reception,
  type StatelessReceiverOptions,
} from '../../lib/webhook/stateless-receiver';
import { AGENT_USER, authorizationFor, envelope, PHRASE, station, withToken } from './sample';

const HOUR = 60 * 60 * 1000;

describe('a request that somebody else has received', () => {
  let now: number;
  let lines: string[];
  let receiver: StatelessReceiver;

  beforeEach(() => {
    now = Date.now();
    lines = [];
    start();
  });

  function start(changes: Partial<StatelessReceiverOptions> = {}): void {
    receiver = new StatelessReceiver({
      id: 'verify',
      stationOfAgentUser: (agentUserId) => (agentUserId === AGENT_USER ? 'north' : 'south'),
      reporter: new Reporter(
        () => now,
        (line) => lines.push(line),
      ),
      now: () => now,
      steady: () => now,
      ...changes,
    });
  }

  function receive(
    body: string | Uint8Array,
    changes: Partial<RequestParts> = {},
    by: ReceivingStation | undefined = station(),
  ): Promise<Reception> {
    const request = {
      head: { method: 'POST', headers: {} },
      authorization: [authorizationFor(body)],
      body: Buffer.from(body),
      remoteAddress: '192.0.2.7',
      ...changes,
    };
    return receiver.receive(request, by);
  }

  /** Outcome, answer, kind and reason in one line. */
  async function summary(receiving: Reception | Promise<Reception>): Promise<string> {
    const reception = await receiving;
    if (reception.outcome === 'authentic') return `authentic ${reception.answer}`;
    const { kind, reason } = reception.problem;
    const answer = reception.outcome === 'refused' ? [reception.answer] : [];
    return [reception.outcome, ...answer, kind, reason ?? 'null'].join(' ');
  }

  it('is an event without an id of the inbox, the first of its alarm, with the facts about the message', async () => {
    const reception = await receive(JSON.stringify(envelope({ messageId: 'one' }, { eventClass: 'health' })));
    assert.ok(reception.outcome === 'authentic');
    const { msg } = reception;
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

  it('is the same however often it comes: nothing is remembered', async () => {
    const body = JSON.stringify(envelope());
    for (let time = 0; time < 3; time++) assert.equal(await summary(receive(body)), 'authentic accepted');
  });

  const good = JSON.stringify(envelope());
  const large = 'x'.repeat(1024 * 1024 + 1);
  const oddHead = (headers: Record<string, string>): Partial<RequestParts> => ({
    head: { method: 'POST', headers },
  });
  const cases: [string, () => Promise<Reception>, string][] = [
    [
      'C-02 no header',
      () => receive(good, { authorization: [] }),
      'refused unauthentic unauthentic no-signature',
    ],
    [
      'C-17 two Authorization lines, both right',
      () => receive(good, { authorization: [authorizationFor(good), authorizationFor(good)] }),
      'refused unauthentic unauthentic bad-signature',
    ],
    [
      'C-35 another body',
      () => receive(good, { body: Buffer.from(`${good} `) }),
      'refused unauthentic unauthentic bad-signature',
    ],
    [
      'C-80 no token',
      () => receive(good, { authorization: [] }, station({ scheme: 'https' })),
      'refused unauthentic unauthentic bad-token',
    ],
    [
      'C-79 the token',
      () => receive(withToken().body, { authorization: [] }, station({ scheme: 'https' })),
      'authentic accepted',
    ],
    [
      'C-106 a coding',
      () => receive(good, oddHead({ 'content-encoding': 'br' })),
      'refused compressed unauthentic compressed',
    ],
    [
      'C-108 identity',
      () => receive(good, oddHead({ 'content-encoding': 'Identity' })),
      'authentic accepted',
    ],
    ['C-109 a body over 1 MiB', () => receive(large), 'refused large unauthentic large'],
    ['C-109 a body of 1 MiB', () => receive(large.slice(1)), 'refused accepted dead-letter not-json'],
    [
      'another method',
      () => receive(good, { head: { method: 'PUT', headers: {} } }),
      'refused method unauthentic method',
    ],
    ['no bytes', () => receive(good, { body: undefined }), 'undecided unauthentic raw-body-missing'],
    ['C-26 no phrase', () => receive(good, {}, station({ secret: ' ' })), 'undecided blocked null'],
    [
      'C-136 a phrase whose variable is not set',
      () => receive(good, { authorization: [authorizationFor(good, '${S}')] }, station({ secret: '${S}' })),
      'undecided blocked null',
    ],
    ['C-110 a key twice', () => receive('{"a":1,"a":2}'), 'refused accepted dead-letter duplicate-key'],
    [
      'C-115 no UTF-8',
      () => receive(Buffer.from([0x22, 0xff, 0x22])),
      'refused accepted dead-letter not-utf8',
    ],
    [
      'C-73 no messageId',
      () => receive(JSON.stringify(envelope({ messageId: null }))),
      'refused accepted dead-letter no-message-id',
    ],
    [
      'C-96 Agent User of another station',
      () =>
        receive(
          JSON.stringify(envelope({}, { agentUserId: 'other' })),
          {},
          station({ agentUserId: AGENT_USER }),
        ),
      'refused accepted dead-letter agent-user',
    ],
    [
      'C-120 unknown type',
      () => receive(JSON.stringify(envelope({ payloadType: 'Hello' }))),
      'refused accepted other null',
    ],
  ];
  for (const [title, run, expected] of cases) {
    it(`${title}: ${expected}`, async () => assert.equal(await summary(run()), expected));
  }

  describe('with a large body', () => {
    const padding = 'x'.repeat(100_000);

    it('is proven as any other, by signature or token', async () => {
      const body = JSON.stringify(envelope({ padding }));
      const https = station({ scheme: 'https' });
      const withPhrase = withToken({ padding }).body;
      assert.equal(await summary(receive(body)), 'authentic accepted');
      assert.equal(await summary(receive(withPhrase, { authorization: [] }, https)), 'authentic accepted');
      const forged = receive(body, { authorization: [authorizationFor(body, 'another')] });
      assert.equal(await summary(forged), 'refused unauthentic unauthentic bad-signature');
      const unknown = receive(withToken({ padding, authenticationToken: 'another' }).body, {}, https);
      assert.equal(await summary(unknown), 'refused unauthentic unauthentic bad-token');
    });

    it('leaves before the next event of its alarm, and behind another alarm', async () => {
      const left: string[] = [];
      const post = (name: string, changes: Record<string, unknown>, alarmId: string): Promise<unknown> =>
        receive(JSON.stringify(envelope(changes, { alarmId }))).then(() => left.push(name));
      await Promise.all([
        post('large', { padding }, 'one'),
        post('the next', {}, 'one'),
        post('another', {}, 'two'),
      ]);
      assert.deepEqual(left, ['another', 'large', 'the next']);
    });

    it('is proven all the same where there is no thread to be had: nothing can be cut here', async () => {
      start({ proofThread: new ProofThread('there-is-none.js') });
      const body = JSON.stringify(envelope({ padding }));
      assert.equal(await summary(receive(body)), 'authentic accepted');
      const forged = receive(body, { authorization: [authorizationFor(body, 'another')] });
      assert.equal(await summary(forged), 'refused unauthentic unauthentic bad-signature');
    });

    it('is proven all the same where more come at a time than wait for the thread', async () => {
      const bodies = Array.from({ length: 30 }, () => JSON.stringify(envelope({ padding })));
      const receptions = await Promise.all(bodies.map((body) => summary(receive(body))));
      assert.deepEqual(new Set(receptions), new Set(['authentic accepted']));
    });
  });

  it('is stale when it was sent more than 26 h ago, once the clock is confirmed', async () => {
    await receive(JSON.stringify(envelope()));
    const transmitTime = new Date(now - 27 * HOUR).toISOString();
    const reception = await receive(JSON.stringify(envelope({ transmitTime })));
    assert.equal(await summary(reception), 'refused accepted stale too-old');
  });

  it('is told of as a problem, with the event only where it is authentic', async () => {
    const body = JSON.stringify(envelope({ payloadType: 'Hello', messageId: 'two' }));
    const proven = await receive(body);
    const unproven = await receive(body, { authorization: [] });
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

  it('C-92 C-93 is proven by the previous phrase as long as that is kept', async () => {
    const renewed = station({ secret: 'the new phrase', previousSecret: PHRASE });
    const reception = await receive(JSON.stringify(envelope()), {}, renewed);
    assert.ok(reception.outcome === 'authentic');
    assert.equal(reception.msg.webhook.secret, 'previous');
    const later = receive(JSON.stringify(envelope()), {}, { ...renewed, previousSecret: '' });
    assert.equal(await summary(later), 'refused unauthentic unauthentic bad-signature');
  });

  it('C-85 C-100 burns a phrase that it brings in clear text, and holds it nowhere', async () => {
    const reception = await receive(withToken().body, { authorization: [] });
    assert.equal(await summary(reception), 'refused unauthentic unauthentic no-signature');
    assert.match(lines.join('\n'), /clear text: change it/);
    const proven = await receive(withToken({ messageId: 5 }).body, {}, station({ scheme: 'https' }));
    assert.equal(await summary(proven), 'refused accepted dead-letter no-message-id');
    assert.equal(JSON.stringify([reception, proven, lines]).includes(PHRASE), false);
  });
});
