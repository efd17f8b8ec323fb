import { readFileSync } from 'node:fs';
import path from 'node:path';

import { atMacroblock, firstMacroblock } from '../../../sandbox/scene/bits';
import { Pack } from '../../../sandbox/scene/packs';

const FOLDER = path.join(__dirname, '..', '..', '..', 'sandbox', 'fixture');
/** The first macroblock of the middle row of the bar, and how far its squares stand from each other. */
const BAR = { first: 81, step: 3 } as const;
const KEY_SLICE = 5;

/** One of each profile: those of the same profile have the same squares. */
const packs = ['gate', 'car-park'].map((name) => new Pack(readFileSync(path.join(FOLDER, `${name}.pack`))));

/**
 * The second 0..59 that the bar of a received key frame shows (H.264), told by its bytes and without a decoder. -1 where the bytes
 * are not those of the sandbox.
 */
export function fixtureSecond(nals: readonly Buffer[]): number {
  const slices = nals.filter((nal) => ((nal[0] ?? 0) & 0x1f) === KEY_SLICE);
  const bits = [0, 1, 2, 3, 4, 5, 6].map((bit) => {
    const square = slices.find((nal) => firstMacroblock(nal) === BAR.first + BAR.step * bit);
    return square === undefined ? -1 : bitOf(atMacroblock(square, 0));
  });
  return bits.includes(-1) ? -1 : bits.reduce((second, bit, i) => second + bit * 2 ** i, 0);
}

function bitOf(square: Buffer): number {
  for (const pack of packs) {
    const { on = [], off = [] } = pack.index.overlay ?? {};
    const isPart = (rows: number[]): boolean => atMacroblock(pack.part(rows[1] ?? -1), 0).equals(square);
    if (isPart(on)) return 1;
    if (isPart(off)) return 0;
  }
  return -1;
}

/** The second that the recording shows at a moment (epoch milliseconds). */
export function expectedSecond(moment: number): number {
  return (((Math.floor(moment / 1000) - 1_760_000_000) % 60) + 60) % 60;
}
