import { readFileSync } from 'node:fs';
import path from 'node:path';

const FIXTURE = path.join(__dirname, '..', '..', '..', 'sandbox', 'fixture', 'fixture.h264');

/** Key frame slices of the recording, by second. */
function keySlices(): Buffer[] {
  const stream = readFileSync(FIXTURE);
  const slices: Buffer[] = [];
  for (let at = stream.indexOf('\0\0\u0001'); at >= 0;) {
    const next = stream.indexOf('\0\0\u0001', at + 3);
    const end = next < 0 ? stream.length : next;
    if (((stream[at + 3] ?? 0) & 0x1f) === 5) slices.push(withoutZeros(stream.subarray(at + 3, end)));
    at = next;
  }
  return slices;
}

function withoutZeros(nal: Buffer): Buffer {
  let end = nal.length;
  while (nal[end - 1] === 0) end--;
  return nal.subarray(0, end);
}

/**
 * The second 0..59 that a received key frame shows, told by its bytes and without a decoder: each second of the
 * recording has one key frame of its own. -1 where the bytes are not those of the recording.
 */
export function fixtureSecond(nals: readonly Buffer[]): number {
  const slice = nals.find((nal) => ((nal[0] ?? 0) & 0x1f) === 5);
  return slice === undefined ? -1 : keySlices().findIndex((known) => known.equals(slice));
}

/** The second that the recording shows at a moment (epoch milliseconds). */
export function expectedSecond(moment: number): number {
  return (((Math.floor(moment / 1000) - 1_760_000_000) % 60) + 60) % 60;
}
