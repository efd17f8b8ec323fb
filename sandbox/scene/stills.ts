import { barSecond, captionOf } from './caption';
import type { Moments } from './pack';
import { PartsFile, hasFields } from './parts-file';
import type { Subject } from './subject';
import { atTimeOfDay } from './time-of-day';

/** The numbers of the cells of a picture, from the top left, row by row. */
type Cells = number[];

/** The pictures of one width. */
export interface StillsIndex {
  width: number;
  columns: number;
  /** A JPEG up to its first cell (ITU-T T.81: each cell is a restart interval of its own). */
  head: number;
  idle: Moments<Cells>;
  /** By the second of the intruder's visit. */
  intruder: Moments<Cells[]>;
  /** The cells that the bar touches, and for each of its 60 seconds what stands there. */
  barCells: number[];
  bars: Moments<Cells[]>;
  /** Where the line of text begins; absent where the picture is too small for one. */
  text?: { first: number; glyphs: Record<string, number> };
}

export interface StillsFile {
  lengths: number[];
  /** Smallest first. */
  widths: StillsIndex[];
}

/** The snapshots of a scene, put together from cells of JPEG that are predicted from none of their neighbours. */
export class Stills {
  readonly #file: PartsFile<StillsFile>;

  constructor(bytes: Buffer) {
    this.#file = new PartsFile(bytes, isStillsFile);
  }

  /** The picture of an epoch second as JPEG; the largest that is not wider than `width`, else the smallest. */
  jpeg(second: number, subject: Subject, width: number): Buffer {
    const { widths } = this.#file.index;
    const index = widths.findLast((known) => known.width <= width) ?? widths[0];
    if (index === undefined) throw new RangeError('There are no snapshots: make them again.');
    const visit = subject.intruder(second);
    const intruder = visit === undefined ? undefined : atTimeOfDay(second, index.intruder)[visit];
    const cells = [...(intruder ?? atTimeOfDay(second, index.idle))];
    const bar = atTimeOfDay(second, index.bars)[barSecond(second)] ?? [];
    for (const [i, cell] of index.barCells.entries()) cells[cell] = bar[i] ?? 0;
    putText(cells, index, captionOf(second, subject.label));
    return this.#joined(index.head, cells);
  }

  // Between two cells stands a restart marker; they count from 0 to 7 (ITU-T T.81, section B.2.1).
  #joined(head: number, cells: Cells): Buffer {
    const parts = cells.flatMap((cell, i) => [this.#file.part(cell), Buffer.from([0xff, 0xd0 + (i % 8)])]);
    return Buffer.concat([this.#file.part(head), ...parts.slice(0, -1), Buffer.from([0xff, 0xd9])]);
  }
}

function isStillsFile(value: unknown): value is StillsFile {
  return hasFields(value, 'lengths', 'widths');
}

function putText(cells: Cells, { text }: StillsIndex, caption: string): void {
  if (text === undefined) return;
  for (const [i, character] of caption.split('').entries())
    cells[text.first + i] = text.glyphs[character] ?? text.glyphs['?'] ?? 0;
}
