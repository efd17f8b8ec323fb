import assert from 'node:assert/strict';
import { InlineInbox } from '../support/inbox/each-store';
import { jsonOf } from '../../lib/message/body';
import { ProofThread } from '../../lib/webhook/proof/proof-thread';
import { authenticate } from '../../lib/webhook/proof/authenticate';
import { Reporter } from '../../lib/webhook/reporter';
import { StatelessReceiver } from '../../lib/webhook/stateless-receiver';
import { PATIENCE } from '../support/time/patience';
import { workOf } from './proof-thread-under-test';
import { ReceiverUnderTest } from './receiver-under-test';
import { authorizationFor, envelope, station } from './sample';

const GUESS = 'a phrase of nobody';
const WITH_TOKEN = JSON.stringify(envelope({ authenticationToken: GUESS }));
const LARGE = JSON.stringify(envelope({ authenticationToken: GUESS, more: 'x'.repeat(100_000) }));
const KINDS: Record<string, [body: string, ...authorization: string[]]> = {
  'a token': [WITH_TOKEN],
  'a token in escapes': [
    WITH_TOKEN.replace('"authenticationToken"', '"\\u0061uthenticationToken"').replace(GUESS, '\\u0061'),
  ],
  'a short token that looks like a number': [WITH_TOKEN.replace(GUESS, '65536')],
  'two tokens': [WITH_TOKEN.replace('{', '{"AuthenticationToken":"a",')],
  'a signature in form': [JSON.stringify(envelope()), authorizationFor('another', GUESS)],
  'a token and a signature in form': [WITH_TOKEN, authorizationFor(WITH_TOKEN, GUESS)],
  'no proof': [JSON.stringify(envelope())],
  'a signature of no form': [JSON.stringify(envelope()), 'HMAC-SHA256 abc'],
  'a password': [JSON.stringify(envelope()), 'Bearer secret-of-somebody'],
  'a token that is no text': [WITH_TOKEN.replace(`"${GUESS}"`, '1'), 'HMAC-SHA256 abc'],
  'no JSON': ['{"authenticationToken":"a","b":}', authorizationFor('', GUESS)],
  'a large body': [LARGE, authorizationFor(LARGE, GUESS)],
};

/** Proves here what is otherwise proven in a thread, where nobody could count. */
class ThreadHere extends ProofThread {
  override async prove(
    ...[message, stations]: Parameters<ProofThread['prove']>
  ): ReturnType<ProofThread['prove']> {
    return authenticate({ ...message, json: jsonOf(message.body) }, stations);
  }
}
const proofThread = new ThreadHere();

/** Of an envelope, in whatever order its fields come. */
const OF_A_BODY = /payloadType|uthenticationToken|BlueEvent|^"/;

for (const scheme of ['http', 'https'] as const)
  describe(`JSON.parse at stations with ${scheme}`, () => {
    const stations = [station({ scheme }), station({ key: 'south', scheme, secret: 'one of the south' })];

    it('gets nothing of an unproven body, neither when it comes nor when it is judged again', async () => {
      const inbox = new InlineInbox();
      const receiver = await ReceiverUnderTest.start({ inbox, holdMs: PATIENCE, proofThread });
      receiver.stations = stations;
      try {
        for (const [kind, [body, Authorization]] of Object.entries(KINDS)) {
          const headers: Record<string, string> = Authorization === undefined ? {} : { Authorization };
          const { parsed } = await workOf(async () => {
            assert.equal(await receiver.statusOf({ body, headers }), 401);
            await inbox.quarantineKey();
            await receiver.dispatcher.judgeAgain(receiver.endpoint);
          });
          const ofBody = parsed.filter((text) => OF_A_BODY.test(text));
          assert.deepEqual(ofBody, [], kind);
        }
        assert.ok((await inbox.quarantined(receiver.endpoint.id)).length > 0);
      } finally {
        await receiver.close();
      }
    });

    it('gets nothing of an unproven body at verify webhook', async () => {
      const clocks = { now: Date.now, monotonic: Date.now };
      const reporter = new Reporter(Date.now, () => undefined);
      const endpoint = { id: 'verify', stationOfAgentUser: () => undefined };
      const receiver = new StatelessReceiver({ ...endpoint, ...clocks, reporter, proofThread });
      for (const [kind, [body, ...authorization]] of Object.entries(KINDS)) {
        const head = { method: 'POST', headers: {} };
        const request = { head, authorization, body: Buffer.from(body) };
        const { parsed } = await workOf(async () => {
          assert.equal((await receiver.receive(request, stations[0])).outcome, 'refused');
        });
        assert.deepEqual(parsed, [], kind);
      }
    });
  });
