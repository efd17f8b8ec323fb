import assert from 'node:assert/strict';
import { readLargeJson, MAX_JSON } from '../../lib/cloud/http/answer';
import { longestTurn, longestTurnAllowed } from '../support/time/event-loop';

const MAX_NAMES = 100_000;
const MAX_VALUES = 1_500_000;
/** What a busy machine adds is no fault of ours, so the best of some counts. */
const TRIES = 5;

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
    it(`never stands still for long, garbage apart: ${what}`, async () => {
      const body = Buffer.from(text);
      let [least, allowed] = [Infinity, 0];
      for (let turn = 0; turn < TRIES && least > allowed; turn += 1) {
        least = Math.min(least, await longestTurn(() => readLargeJson(body)));
        allowed = Math.max(allowed, longestTurnAllowed());
      }
      assert.ok(body.length <= MAX_JSON, `${body.length} bytes`);
      assert.ok(least <= allowed, `${least} ms, of ${allowed}`);
    });
});
