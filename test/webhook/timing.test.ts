import assert from 'node:assert/strict';
import { jsonOf } from '../../lib/message/body';
import { authenticate } from '../../lib/webhook/proof/authenticate';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { type Work, workOf } from './proof-thread-under-test';
import { ReceiverUnderTest } from './receiver-under-test';
import { envelope, signatureOf, station, withToken } from './sample';

/** One way of being refused, to be measured against others. */
interface Attempt {
  body: string;
  signature?: string;
  stations?: ReceivingStation[];
}

const BODY = JSON.stringify(envelope());
const RIGHT = signatureOf(BODY);
const SECRET = 'q'.repeat(40);

/** The right signature up to `length` characters, then others that all differ from it. */
function wrongAfter(length: number): string {
  const wrong = RIGHT.slice(length).replace(/[^=]/g, (character) => (character === 'A' ? 'B' : 'A'));
  return `HMAC-SHA256 ${RIGHT.slice(0, length)}${wrong}`;
}

const ofToken = (token: string, changes: Partial<ReceivingStation>): Attempt => ({
  body: withToken({ authenticationToken: token }).body,
  stations: [station({ scheme: 'https', ...changes })],
});

const bySignature = (length: number, stations?: ReceivingStation[]): Attempt => {
  return { body: BODY, signature: wrongAfter(length), ...(stations && { stations }) };
};
const wrongSignatures = [0, 11, 22, 33, 42].map((length) => bySignature(length));
const wrongTokens = [0, 13, 26, 39].map((length) =>
  ofToken(SECRET.slice(0, length).padEnd(SECRET.length, 'x'), { secret: SECRET }),
);

const phrases = [{}, { previousSecret: 'the phrase before' }, { secret: '', previousSecret: '' }];
const stationsBySignature = phrases.map((changes) => bySignature(0, [station(changes)]));
const stationsByToken = phrases.map((changes) => ofToken('x'.repeat(40), changes));

/** A refusal, ready to be repeated. */
function refusal({ body, signature, stations = [station()] }: Attempt): () => void {
  const bytes = Buffer.from(body);
  const authorization = signature === undefined ? [] : [signature];
  const message = { body: bytes, authorization, json: jsonOf(bytes) };
  return () => assert.equal(authenticate(message, stations).proven, false);
}

/** A comparison that stops at the first difference would not be among those of node:crypto. */
async function costOf(attempt: Attempt): Promise<Pick<Work, 'hmacs' | 'comparisons'>> {
  const { hmacs, comparisons } = await workOf(refusal(attempt));
  return { hmacs, comparisons };
}

/** Of a loaded machine the best rounds count: load makes a round longer and never shorter. */
const ROUNDS = 40;
const REFUSALS_A_ROUND = 10;
const BEST = 4;
/** Work left out makes a factor of two and more. */
const TOLERANCE = 1.5;
/** Each with twice the rounds of the one before; a real difference shows in all of them. */
const MEASUREMENTS = 4;

/** Milliseconds of a good round of each attempt. They take turns, so that all meet the same load. */
function timesOf(refusals: readonly (() => void)[], rounds: number): number[] {
  const times = refusals.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, refuse] of refusals.entries()) {
      const start = performance.now();
      for (let count = 0; count < REFUSALS_A_ROUND; count++) refuse();
      times[index]?.push(performance.now() - start);
    }
  }
  return times.map((list) => list.sort((one, other) => one - other)[BEST] ?? 0);
}

/** Fails where the time of one attempt is far from that of another, however often it is measured. */
function assertSameTime(attempts: readonly Attempt[]): void {
  const refusals = attempts.map(refusal);
  let times: number[] = [];
  for (let measurement = 0; measurement < MEASUREMENTS; measurement++) {
    times = timesOf(refusals, ROUNDS * 2 ** measurement);
    if (Math.max(...times) / Math.min(...times) < TOLERANCE) return;
  }
  assert.fail(`good rounds in ms: ${times.map((time) => time.toFixed(3)).join(' ')}`);
}

describe('a refusal', () => {
  for (const [title, attempts, hmacs] of [
    // One HMAC for each of two phrases.
    ['C-33 however much of a signature is right', wrongSignatures, 2],
    // Digests are compared, one of the token and one of each of two phrases: the length of a phrase is a secret.
    ['C-33 however much of a token is right', wrongTokens, 3],
    ['C-34 whether a station has phrases, seen by signatures', stationsBySignature, 2],
    ['C-34 whether a station has phrases, seen by tokens', stationsByToken, 3],
  ] as const) {
    it(`${title}: costs the same work, and compares in constant time`, async () => {
      for (const attempt of attempts) assert.deepEqual(await costOf(attempt), { hmacs, comparisons: 2 });
    });

    it(`${title}: takes the same time`, () => assertSameTime(attempts));
  }

  it('C-34 costs the work of all stations of a shared path', async () => {
    const stations = ['north', 'south', 'west'].map((key) => station({ key, secret: `phrase of ${key}` }));
    assert.deepEqual(await costOf(bySignature(0, stations)), { hmacs: 6, comparisons: 6 });
  });

  it('C-34 does not tell, and does not ask, whether a station has the Agent User that a message names', async () => {
    const asked: string[] = [];
    const stationOfAgentUser = (id: string): undefined => void asked.push(id);
    const receiver = await ReceiverUnderTest.start({ endpoint: { stationOfAgentUser } });
    try {
      receiver.stations = ['north', 'south'].map((key) =>
        station({ key, secret: `phrase of ${key}`, agentUserId: `agent user of ${key}` }),
      );
      const answers = [];
      for (const agentUserId of ['agent user of north', 'agent user of other']) {
        const body = JSON.stringify(envelope({}, { agentUserId }));
        const { status, text } = await receiver.post({ body, headers: { Authorization: wrongAfter(0) } });
        answers.push([status, text]);
      }
      assert.equal(answers[0]?.[0], 401);
      assert.deepEqual(answers[1], answers[0]);
      assert.deepEqual(asked, []);
    } finally {
      await receiver.close();
    }
  });
});
