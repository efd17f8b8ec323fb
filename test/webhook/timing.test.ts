import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { mock } from 'node:test';
import { jsonOf } from '../../lib/message/body';
import { authenticate } from '../../lib/webhook/proof/authenticate';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
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

const WRONG_SIGNATURES: Attempt[] = [0, 11, 22, 33, 42].map((length) => ({
  body: BODY,
  signature: wrongAfter(length),
}));

const WRONG_TOKENS: Attempt[] = [0, 13, 26, 39]
  .map((length) => SECRET.slice(0, length).padEnd(SECRET.length, 'x'))
  .map((authenticationToken) => ({
    body: withToken({ authenticationToken }).body,
    stations: [station({ scheme: 'https', secret: SECRET })],
  }));

const PHRASES: Partial<ReceivingStation>[] = [
  {},
  { previousSecret: 'the phrase before' },
  { secret: '', previousSecret: '' },
];

const STATIONS_BY_SIGNATURE: Attempt[] = PHRASES.map((phrases) => ({
  body: BODY,
  signature: wrongAfter(0),
  stations: [station(phrases)],
}));

const STATIONS_BY_TOKEN: Attempt[] = PHRASES.map((phrases) => ({
  body: withToken({ authenticationToken: 'x'.repeat(40) }).body,
  stations: [station({ scheme: 'https', ...phrases })],
}));

/** A refusal, ready to be repeated. */
function refusal({ body, signature, stations = [station()] }: Attempt): () => void {
  const bytes = Buffer.from(body);
  const authorization = signature === undefined ? [] : [signature];
  const message = { body: bytes, authorization, json: jsonOf(bytes) };
  return () => assert.equal(authenticate(message, stations).proven, false);
}

interface Work {
  hmacs: number;
  comparisons: number;
}

/** What a refusal asks of node:crypto. A comparison that stops at the first difference would not be among it. */
function workOf(attempt: Attempt): Work {
  const refuse = refusal(attempt);
  const hmac = mock.method(crypto, 'createHmac');
  const compare = mock.method(crypto, 'timingSafeEqual');
  try {
    refuse();
    return { hmacs: hmac.mock.callCount(), comparisons: compare.mock.callCount() };
  } finally {
    mock.restoreAll();
  }
}

function assertSameWork(attempts: readonly Attempt[], expected: Work): void {
  for (const attempt of attempts) assert.deepEqual(workOf(attempt), expected, JSON.stringify(attempt));
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
  it('C-33 costs the same work however much of a signature is right, and compares in constant time', () => {
    // One for each of two phrases.
    assertSameWork(WRONG_SIGNATURES, { hmacs: 2, comparisons: 2 });
  });

  it('C-33 costs the same work however much of a token is right, and compares in constant time', () => {
    // Digests are compared, one of the token and one of each of two phrases: the length of a phrase is a secret.
    assertSameWork(WRONG_TOKENS, { hmacs: 3, comparisons: 2 });
  });

  it('C-34 costs the same work whether a station has a previous phrase, or a usable one at all', () => {
    assertSameWork(STATIONS_BY_SIGNATURE, { hmacs: 2, comparisons: 2 });
    assertSameWork(STATIONS_BY_TOKEN, { hmacs: 3, comparisons: 2 });
  });

  it('C-34 costs the work of all stations of a shared path', () => {
    const stations = ['north', 'south', 'west'].map((key) => station({ key, secret: `phrase of ${key}` }));
    assertSameWork([{ body: BODY, signature: wrongAfter(0), stations }], { hmacs: 6, comparisons: 6 });
  });

  for (const [title, attempts] of [
    ['C-33 takes the same time however much of a signature is right', WRONG_SIGNATURES],
    ['C-33 takes the same time however much of a token is right', WRONG_TOKENS],
    ['C-34 takes the same time whether a station has phrases, seen by signatures', STATIONS_BY_SIGNATURE],
    ['C-34 takes the same time whether a station has phrases, seen by tokens', STATIONS_BY_TOKEN],
  ] as const)
    it(title, () => assertSameTime(attempts));

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
