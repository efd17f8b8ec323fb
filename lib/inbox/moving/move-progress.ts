/** How far the move of one file has come, as the database keeps it. */
export interface MoveProgress {
  /** Messages up to this sequence of the file are there. */
  copied: number;
  /** How often the file had been opened by an inbox: where it is another number now, it may have changed. */
  openings: number;
  /** The newest sequence that was there before. */
  before: number;
  /** The clock of the inbox there when the move was begun, in milliseconds. */
  clock: number;
  /** True once the database has taken over: from then on it delivers. */
  isDone: boolean;
}

/** Under which name it is kept. @param id of the file */
export function progressName(id: string): string {
  return `move ${id}`;
}

/** Undefined for what no version of the package has written. */
export function progressIn(text: unknown): MoveProgress | undefined {
  if (typeof text !== 'string') return undefined;
  const { copied, openings, before, clock, isDone } = JSON.parse(text) as Partial<MoveProgress>;
  const numbers = [copied, openings, before, clock];
  if (!numbers.every(Number.isSafeInteger) || typeof isDone !== 'boolean') return undefined;
  return { copied, openings, before, clock, isDone } as MoveProgress;
}
