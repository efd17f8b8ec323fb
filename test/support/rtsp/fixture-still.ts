import { readFileSync } from 'node:fs';
import path from 'node:path';

const GATE = path.join(__dirname, '..', '..', '..', 'sandbox', 'fixture', 'gate.stills');
/** From the size of the picture on heads differ: what is before it are the tables by which it was made. */
const SIZE_MARKER = Buffer.from([0xff, 0xc0]);

/** True for a whole JPEG that was put together from the recorded cells of the sandbox. */
export function isFixtureStill(jpeg: Buffer): boolean {
  const recorded = readFileSync(GATE);
  const head = jpeg.subarray(0, jpeg.indexOf(SIZE_MARKER));
  return head.length > 100 && recorded.includes(head) && jpeg.subarray(-2).toString('hex') === 'ffd9';
}
