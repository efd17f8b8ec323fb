import assert from 'node:assert/strict';
import { jsonOf } from '../../lib/webhook/json-reading';
import { verify } from '../../lib/webhook/verify';
import type { ReceivingStation } from '../../lib/webhook/station';
import { envelope, signatureOf, station, withToken } from './sample';

/** One way of being refused, to be timed against others. */
interface Attempt {
  body: string;
  signature?: string;
  stations?: ReceivingStation[];
}

const ROUNDS = 100;
const TRIES_A_ROUND = 20;
/** Generous, because the machine does other things too; work left out makes a factor of two and more. */
const TOLERANCE = 1.6;

const BODY = JSON.stringify(envelope());
const RIGHT = signatureOf(BODY);

/** The right signature up to `length` characters, then others that all differ from it. */
function wrongAfter(length: number): string {
  const wrong = RIGHT.slice(length).replace(/[^=]/g, (character) => (character === 'A' ? 'B' : 'A'));
  return `HMAC-SHA256 ${RIGHT.slice(0, length)}${wrong}`;
}

/** Makes a measurement: milliseconds for some refusals in a row. */
function timer({ body, signature, stations = [station()] }: Attempt): () => number {
  const bytes = Buffer.from(body);
  const authorization = signature === undefined ? [] : [signature];
  const received = { body: bytes, authorization, json: jsonOf(bytes) };
  return () => {
    const start = performance.now();
    for (let count = 0; count < TRIES_A_ROUND; count++) {
      if (verify(received, stations).proven) throw new Error('only refusals are timed');
    }
    return performance.now() - start;
  };
}

/** Fails where the median of one attempt is far from that of another. They take turns, so that all meet the same load. */
function assertSameTime(attempts: readonly Attempt[]): void {
  const timers = attempts.map(timer);
  const times = timers.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, measure] of timers.entries()) times[index]?.push(measure());
  }
  const medians = times.map((list) => list.sort((one, other) => one - other)[ROUNDS / 2] ?? 0);
  const ratio = Math.max(...medians) / Math.min(...medians);
  assert.ok(ratio < TOLERANCE, `medians in ms: ${medians.map((median) => median.toFixed(3)).join(' ')}`);
}

describe('time of a refusal', () => {
  it('C-33 does not tell how much of a signature is right', () => {
    assertSameTime([0, 11, 22, 33, 42].map((length) => ({ body: BODY, signature: wrongAfter(length) })));
  });

  it('C-33 does not tell how much of a token is right', () => {
    const stations = [station({ scheme: 'https', secret: 'q'.repeat(40) })];
    const tokens = [0, 13, 26, 39].map((length) => 'q'.repeat(length).padEnd(40, 'x'));
    const bodies = tokens.map((authenticationToken) => withToken({ authenticationToken }).body);
    assertSameTime(bodies.map((body) => ({ body, stations })));
  });

  it('C-34 does not tell whether a station has a previous phrase, or a usable one at all', () => {
    const signature = wrongAfter(0);
    const stations = [
      [station()],
      [station({ previousSecret: 'the phrase before' })],
      [station({ secret: '', previousSecret: '' })],
    ];
    assertSameTime(stations.map((list) => ({ body: BODY, signature, stations: list })));
  });

  it('C-34 does not tell whether a message of a shared path names a station that is there', () => {
    const stations = ['north', 'south', 'west'].map((key) =>
      station({ key, secret: `phrase of ${key}`, agentUserId: `agent user of ${key}` }),
    );
    const bodies = ['agent user of north', 'agent user of west', 'agent user of other'].map((agentUserId) =>
      JSON.stringify(envelope({}, { agentUserId })),
    );
    assertSameTime(bodies.map((body) => ({ body, signature: wrongAfter(0), stations })));
  });
});
