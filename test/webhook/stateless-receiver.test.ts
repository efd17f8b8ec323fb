import assert from 'node:assert/strict';
import type { Problem } from '../../lib/webhook/problem';
import { Reporter } from '../../lib/webhook/reporter';
import { ProofThread } from '../../lib/webhook/proof/proof-thread';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { StatelessReceiver, type RequestParts, type Reception } from '../../lib/webhook/stateless-receiver';
import type { StatelessReceiverOptions } from '../../lib/webhook/stateless-receiver';
import { AGENT_USER, authorizationFor, envelope, PHRASE, station, withToken } from './sample';

describe('a request that somebody else has received', () => {
  let lines: string[];
  let receiver: StatelessReceiver;

  beforeEach(() => {
    lines = [];
    start();
  });

  function start(changes: Partial<StatelessReceiverOptions> = {}): void {
    receiver = new StatelessReceiver({
      id: 'verify',
      stationOfAgentUser: (agentUserId) => (agentUserId === AGENT_USER ? 'north' : 'south'),
      reporter: new Reporter(Date.now, (line) => lines.push(line)),
      now: Date.now,
      monotonic: Date.now,
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

  it('is the same however often it comes: nothing is remembered', async () => {
    const body = JSON.stringify(envelope());
    for (let time = 0; time < 3; time++) assert.equal(await summary(receive(body)), 'authentic accepted');
  });

  const textOf = (...changes: Parameters<typeof envelope>): string => JSON.stringify(envelope(...changes));
  const ofNorth = station({ agentUserId: AGENT_USER });
  const ofSouth = () => receive(textOf({}, { agentUserId: 'other' }), {}, ofNorth);
  const identity = { head: { method: 'POST', headers: { 'content-encoding': 'Identity' } } };
  for (const [title, run, expected] of [
    ['C-108 identity', () => receive(textOf(), identity), 'authentic accepted'],
    ['C-96 Agent User of another station', ofSouth, 'refused accepted dead-letter agent-user'],
  ] as const)
    it(`${title}: ${expected}`, async () => assert.equal(await summary(run()), expected));

  describe('with a large body', () => {
    const padding = 'x'.repeat(100_000);
    const forged = (body: string): Promise<Reception> =>
      receive(body, { authorization: [authorizationFor(body, 'another')] });

    it('is proven as any other, by signature or token', async () => {
      const body = textOf({ padding });
      const https = station({ scheme: 'https' });
      const withPhrase = withToken({ padding }).body;
      assert.equal(await summary(receive(body)), 'authentic accepted');
      assert.equal(await summary(receive(withPhrase, { authorization: [] }, https)), 'authentic accepted');
      assert.equal(await summary(forged(body)), 'refused unauthentic unauthentic bad-signature');
      const unknown = receive(withToken({ padding, authenticationToken: 'another' }).body, {}, https);
      assert.equal(await summary(unknown), 'refused unauthentic unauthentic bad-token');
    });

    it('leaves before the next event of its alarm, and behind another alarm', async () => {
      const left: string[] = [];
      const post = (name: string, changes: Record<string, unknown>, alarmId: string): Promise<unknown> =>
        receive(textOf(changes, { alarmId })).then(() => left.push(name));
      const large = post('large', { padding }, 'one');
      await Promise.all([large, post('the next', {}, 'one'), post('another', {}, 'two')]);
      assert.deepEqual(left, ['another', 'large', 'the next']);
    });

    it('is proven all the same where there is no thread to be had: nothing can be cut here', async () => {
      start({ proofThread: new ProofThread('there-is-none.js') });
      const body = textOf({ padding });
      assert.equal(await summary(receive(body)), 'authentic accepted');
      assert.equal(await summary(forged(body)), 'refused unauthentic unauthentic bad-signature');
    });

    it('is proven all the same where more come at a time than wait for the thread', async () => {
      const bodies = Array.from({ length: 30 }, () => textOf({ padding }));
      const receptions = await Promise.all(bodies.map((body) => summary(receive(body))));
      assert.deepEqual(new Set(receptions), new Set(['authentic accepted']));
    });
  });

  it('is told of as a problem, with the event only where it is authentic', async () => {
    const now = Date.now();
    start({ now: () => now });
    const body = textOf({ payloadType: 'Hello', messageId: 'two' });
    const problemOf = async (changes: Partial<RequestParts>): Promise<Problem> => {
      const reception = await receive(body, changes);
      return reception.outcome === 'refused' ? reception.problem : assert.fail();
    };
    const from = { station: 'north', stationName: 'North Station', remoteAddress: '192.0.2.7' };
    const usual = { ...from, receivedTime: new Date(now).toISOString(), bytes: body.length, count: 1 };
    const unproven = await problemOf({ authorization: [] });
    assert.deepEqual(unproven, { ...usual, kind: 'unauthentic', reason: 'no-signature' });
    const { event, ...proven } = await problemOf({});
    const known = { messageId: 'two', alarmId: event?.alarmId };
    assert.deepEqual(proven, { ...usual, ...known, kind: 'other', reason: null });
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
