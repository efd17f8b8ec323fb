import { isRecord } from '../json/json-record';
import type { Raiser } from './group';
import type { Counted, Level } from './level';
import type { Slot, SlotWrite } from './slots';

type Written = Pick<SlotWrite, 'value' | 'lasts'>;

/** How the state of a group stands in a slot. Times in it are relative: clocks of machines differ. */
export interface StoredLevel {
  level: Level;
  raiser: Raiser | undefined;
  /** The life of the instance that wrote it. */
  by: string;
}

/** Times are milliseconds of the clock that `now` is of. */
export function levelValue({ level, raiser, by }: StoredLevel, within: number, now: number): Written {
  const common = { by, ...(raiser && { id: raiser.id, alarm: raiser.alarm }) };
  if (level.raised) return { value: { ...common, raised: true }, lasts: lasting(level.until - now) };
  if (level.counted.length === 0) return { value: { ...common, raised: false } };
  const lasts = lasting(within);
  const counted = level.counted.map(({ id, at }) => [id, Math.round(now - at)]);
  return { value: { ...common, raised: false, counted, lasts }, lasts };
}

/** Undefined where another, perhaps newer package has written what cannot be read. */
export function storedLevel({ value, left = 0 }: Slot, now: number): StoredLevel | undefined {
  if (!isRecord(value)) return undefined;
  const { raised, by, id, alarm, counted, lasts } = value;
  const writtenAt = typeof lasts === 'number' ? now + left - lasts : now;
  return {
    level: {
      raised: raised === true,
      until: raised === true ? now + left : 0,
      counted: Array.isArray(counted) ? counted.flatMap((each) => storedCount(each, writtenAt)) : [],
    },
    raiser: typeof id === 'string' && typeof alarm === 'string' ? { id, alarm } : undefined,
    by: typeof by === 'string' ? by : '',
  };
}

/** Ends of levels by group, as one life of an instance has extended them. */
export function endsValue(ends: ReadonlyMap<string, number>, now: number): Written {
  const lasts = lasting(Math.max(0, ...ends.values()) - now);
  const relative = [...ends].map(([group, end]) => [group, Math.round(end - now)]);
  return { value: { lasts, ends: relative }, lasts };
}

export function storedEnds({ value, left = 0 }: Slot, now: number): Map<string, number> {
  const ends = new Map<string, number>();
  if (!isRecord(value) || !Array.isArray(value.ends) || typeof value.lasts !== 'number') return ends;
  const writtenAt = now + left - value.lasts;
  for (const each of value.ends) {
    if (!Array.isArray(each)) continue;
    const [group, end] = each as unknown[];
    if (typeof group === 'string' && typeof end === 'number') ends.set(group, writtenAt + end);
  }
  return ends;
}

function lasting(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds));
}

function storedCount(value: unknown, writtenAt: number): Counted[] {
  if (!Array.isArray(value)) return [];
  const [id, before] = value as unknown[];
  return typeof id === 'string' && typeof before === 'number' ? [{ id, at: writtenAt - before }] : [];
}
