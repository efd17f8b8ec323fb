import { isRecord } from '../json/json-record';
import type { Raiser } from './group';
import type { Counted, Level } from './level';
import type { Slot, SlotWrite } from './slots';

/** How the state of a group stands in a slot. Times in it are relative: clocks of machines differ. */
export interface StoredLevel {
  level: Level;
  raiser: Raiser | undefined;
  /** Who wrote it. */
  by: string;
}

/** @param end of a raised one, as the store is to know it; times are milliseconds of the clock that `now` is of */
export function levelValue(
  stored: StoredLevel,
  end: number,
  within: number,
  now: number,
): Pick<SlotWrite, 'value' | 'lasts'> {
  const { level, raiser, by } = stored;
  const common = { by, ...(raiser && { id: raiser.id, alarm: raiser.alarm }) };
  if (level.raised) return { value: { ...common, raised: true }, lasts: Math.max(1, Math.ceil(end - now)) };
  if (level.counted.length === 0) return { value: { ...common, raised: false } };
  const lasts = Math.max(1, Math.ceil(within));
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

function storedCount(value: unknown, writtenAt: number): Counted[] {
  if (!Array.isArray(value)) return [];
  const [id, before] = value as unknown[];
  return typeof id === 'string' && typeof before === 'number' ? [{ id, at: writtenAt - before }] : [];
}
