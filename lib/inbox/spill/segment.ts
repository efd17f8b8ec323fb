import fs from 'node:fs/promises';
import path from 'node:path';
import { frameIn, framesIn, type Frame, type FramePlace } from './frame';

/** One file of frames. */
export interface Segment {
  readonly file: string;
  /** Its name among what stays in the spill folder. */
  readonly keptAs: string;
  /** Length, in bytes. */
  bytes: number;
  /** A part of it cannot be read: then it is kept. */
  isDamaged: boolean;
}

/** Of a folder of files of frames: `spill-1` and so on. */
const NAME = /^spill-(\d+)$/;

/** Names of the files of frames in a folder, oldest first. @throws Error where the folder cannot be read */
export async function segmentNames(folder: string): Promise<string[]> {
  const entries = await fs.readdir(folder, { withFileTypes: true });
  // Whatever else has such a name was made by somebody else: a pipe would be read for ever.
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  return files.filter((name) => NAME.test(name)).sort((one, other) => numberOf(one) - numberOf(other));
}

function numberOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}

/** Reads a file of frames; one that cannot be read at all is kept as a damaged one. */
export async function readSegment(
  file: string,
  keptAs: string,
): Promise<{ segment: Segment; frames: (FramePlace & { frame: Frame })[] }> {
  const content = await fs.readFile(file).catch(() => undefined);
  const { frames, isWhole } = framesIn(content ?? Buffer.alloc(0));
  const segment = {
    file,
    keptAs,
    bytes: content?.length ?? 0,
    isDamaged: content === undefined || !isWhole,
  };
  return { segment, frames };
}

/** Frames once more, one after the other. Each is undefined where it cannot be read. */
export async function* readFrames(
  { file }: Segment,
  places: readonly FramePlace[],
): AsyncGenerator<Frame | undefined> {
  const handle = await fs.open(file, 'r').catch(() => undefined);
  try {
    for (const place of places) yield handle && (await readAt(handle, place));
  } finally {
    await handle?.close();
  }
}

/** One frame once more. Undefined where it cannot be read. */
export async function readFrame(segment: Segment, place: FramePlace): Promise<Frame | undefined> {
  for await (const frame of readFrames(segment, [place])) return frame;
  return undefined;
}

async function readAt(handle: fs.FileHandle, { at, length }: FramePlace): Promise<Frame | undefined> {
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, at);
    return bytesRead === length ? frameIn(buffer) : undefined;
  } catch {
    return undefined;
  }
}

/** Nothing in it is needed any more. Gives the name of what stays, where a part of it could not be read. */
export async function dropSegment(
  { file, keptAs, isDamaged }: Segment,
  base: string,
): Promise<string | undefined> {
  if (!isDamaged) {
    await fs.unlink(file);
    return undefined;
  }
  const kept = path.join(base, `${keptAs}.damaged`);
  await fs.rename(file, kept);
  return kept;
}
