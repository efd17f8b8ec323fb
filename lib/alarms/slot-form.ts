import { isRecord } from '../json/json';
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

/** Ends of levels, as one life of an instance has extended them: flat, for there may be many, every few seconds. */
export function endsValue(groups: readonly string[], ends: readonly number[], now: number): Written {
  const left = ends.map((end) => Math.round(end - now));
  const lasts = lasting(left.reduce((latest, each) => Math.max(latest, each), 0));
  return { value: { lasts, groups, left }, lasts };
}

/** By group. */
export function storedEnds({ value, left = 0 }: Slot, now: number): Map<string, number> {
  const ends = new Map<string, number>();
  if (!isRecord(value) || typeof value.lasts !== 'number') return ends;
  const { groups, left: ofGroups } = value;
  if (!Array.isArray(groups) || !Array.isArray(ofGroups)) return ends;
  const writtenAt = now + left - value.lasts;
  groups.forEach((group: unknown, index) => {
    const ofGroup: unknown = ofGroups[index];
    if (typeof group === 'string' && typeof ofGroup === 'number') ends.set(group, writtenAt + ofGroup);
  });
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
