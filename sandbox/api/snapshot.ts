import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer } from './http-server';
import { badRequest } from '../refusal';
import type { Camera } from '../world/world';

/** Widths of the pictures that scripts/make-snapshots.sh makes, smallest first. */
const WIDTHS = [160, 320] as const;
type Width = (typeof WIDTHS)[number];

/** The recording's first second; its pictures repeat every 60 s. */
const FIXTURE_START_S = 1_760_000_000;
const END_OF_IMAGE = Buffer.from([0xff, 0xd9]);

const pictures = new Map<Width, readonly Buffer[]>();

/** The live picture of this second as JPEG; `width` picks the nearest size that is not larger, else the smallest. */
export function snapshot(camera: Camera, width: string | null, now: number): Answer {
  const list = picturesOf(nearestWidth(width));
  const second = Math.floor(now / 1000) - FIXTURE_START_S;
  const index = ((second % list.length) + list.length) % list.length;
  return {
    status: 200,
    headers: {
      'Content-Type': 'image/jpeg',
      'X-Resource-Timestamp': new Date(now).toISOString(),
      'Content-Disposition': `inline; filename="${camera.name.replaceAll(' ', '-')}.jpg"`,
    },
    body: list[index],
  };
}

function nearestWidth(text: string | null): Width {
  if (text === null || text === '') return 320;
  const width = Number(text);
  if (!Number.isInteger(width) || width < 1 || width > 10_000) {
    throw badRequest('width must be a whole number from 1 to 10000.', 'width');
  }
  return WIDTHS.findLast((known) => known <= width) ?? WIDTHS[0];
}

function picturesOf(width: Width): readonly Buffer[] {
  const known = pictures.get(width);
  if (known !== undefined) return known;
  const list = splitJpegs(readFileSync(join(__dirname, '..', 'fixture', `snapshots-${width}.mjpeg`)));
  pictures.set(width, list);
  return list;
}

/** A JPEG ends at its end-of-image marker, which cannot occur inside its data. */
function splitJpegs(bytes: Buffer): Buffer[] {
  const list: Buffer[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(END_OF_IMAGE, start);
    if (end < 0) break;
    list.push(bytes.subarray(start, end + END_OF_IMAGE.length));
    start = end + END_OF_IMAGE.length;
  }
  return list;
}
