import assert from 'node:assert/strict';
import { PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { readLargeJson } from '../../lib/cloud/http/large-json';
import { MAX_JSON } from '../../lib/cloud/http/json-limits';
const MAX_NAMES = 100_000,
  MAX_VALUES = 1_500_000;
import { threadTime } from '../support/time/thread-time';

/** Milliseconds for which the event loop may stand still. */
const LONGEST_TURN = 20;
/** What a busy machine adds is no fault of ours, so the best of some counts. */
const TRIES = 5;

interface Turn {
  from: number;
  to: number;
  ran: number;
}

/** The turns of the event loop while something is done. */
async function turnsOf(work: () => Promise<unknown>): Promise<Turn[]> {
  const turns: Turn[] = [];
  let [from, ran] = [performance.now(), threadTime()];
  let going = true;
  const turn = (): void => {
    const [to, now] = [performance.now(), threadTime()];
    turns.push({ from, to, ran: now - ran });
    [from, ran] = [to, now];
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  // What the work has left for the next turns counts as well.
  await sleep(20);
  going = false;
  return turns;
}

/** The longest, in milliseconds. Not counted is the collection of garbage: how long that stops everything, nobody but V8 decides. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  const collections: PerformanceEntry[] = [];
  const observer = new PerformanceObserver((list) => void collections.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  const turns = await turnsOf(work);
  await sleep(20);
  observer.disconnect();
  const collectedIn = ({ from, to }: Turn): number =>
    collections
      .filter(({ startTime }) => startTime >= from && startTime < to)
      .reduce((sum, { duration }) => sum + duration, 0);
  return Math.max(...turns.map((turn) => turn.ran - collectedIn(turn)));
}

function listOf(piece: string, values: number): string {
  return `[${Array(Math.floor(values)).fill(piece).join(',')}]`;
}

const DEVICE = '{"id":"0e9f0c1a-0000-e911-8000","name":"Camera at the gate","at":[1920,1080],"online":true}';

describe('event loop beside an answer of up to 16 MiB', () => {
  for (const [what, text] of [
    ['as many numbers as are read', listOf('1', MAX_VALUES)],
    ['more numbers than are read', listOf('1', MAX_JSON / 2 - 2)],
    ['as many empty lists as are read', listOf('[]', MAX_VALUES / 2)],
    ['more empty lists than are read', listOf('[]', MAX_JSON / 3 - 2)],
    ['more empty objects than are read', listOf('{}', MAX_JSON / 3 - 2)],
    [
      'as many names as are read of one object',
      `{${Array.from({ length: MAX_NAMES }, (_, n) => `"name ${n}${'e'.repeat(140)}":${n}`).join(',')}}`,
    ],
    ['many devices', listOf(DEVICE, 150_000)],
  ] as const)
    it(`stands still for no more than ${LONGEST_TURN} ms, garbage apart: ${what}`, async () => {
      const body = Buffer.from(text);
      let least = Infinity;
      for (let turn = 0; turn < TRIES && least > LONGEST_TURN; turn += 1)
        least = Math.min(least, await longestTurn(() => readLargeJson(body)));
      assert.ok(body.length <= MAX_JSON, `${body.length} bytes`);
      assert.ok(least <= LONGEST_TURN, `${least} ms`);
    });
});
