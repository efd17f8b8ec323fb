import type { MessageKey, Progress } from '../store/protocol';
import { alarmOf, freeBytes, type SpilledMessage } from './spilled-message';

/** What is spilled, as it is looked for: by id, by alarm, and in the order in which it goes to the flow. No rules of its own. */
export class SpilledMessages {
  readonly #all = new Map<string, SpilledMessage>();
  /** By station and message id: each with other content. */
  readonly #copies = new Map<string, SpilledMessage[]>();
  /** By endpoint: those that wait, in their order. */
  readonly #waiting = new Map<string, SpilledMessage[]>();
  /** By alarm, in their order. */
  readonly #alarms = new Map<string, SpilledMessage[]>();

  get size(): number {
    return this.#all.size;
  }

  all(): SpilledMessage[] {
    return [...this.#all.values()];
  }

  some(is: (spilled: SpilledMessage) => boolean): boolean {
    for (const spilled of this.#all.values()) if (is(spilled)) return true;
    return false;
  }

  add(spilled: SpilledMessage): void {
    this.#all.set(spilled.deliveryId, spilled);
    insert(this.#copies, idOf(spilled.columns), spilled);
    const alarm = alarmKeyOf(spilled.columns);
    if (alarm !== undefined && spilled.columns.state === 'received') insert(this.#alarms, alarm, spilled);
    if (spilled.progress.state === 'received') insert(this.#waiting, spilled.columns.endpoint, spilled);
  }

  remove(spilled: SpilledMessage): void {
    this.#all.delete(spilled.deliveryId);
    take(this.#copies, idOf(spilled.columns), spilled);
    take(this.#waiting, spilled.columns.endpoint, spilled);
    const alarm = alarmKeyOf(spilled.columns);
    if (alarm !== undefined) take(this.#alarms, alarm, spilled);
  }

  find(deliveryId: string): SpilledMessage | undefined {
    return this.#all.get(deliveryId);
  }

  copiesOf(likeness: MessageKey): readonly SpilledMessage[] {
    return this.#copies.get(idOf(likeness)) ?? [];
  }

  ofAlarm(likeness: Pick<MessageKey, 'station' | 'alarm'>): readonly SpilledMessage[] {
    const alarm = alarmKeyOf(likeness);
    return alarm === undefined ? [] : (this.#alarms.get(alarm) ?? []);
  }

  /** In the order in which they go to the flow. */
  waiting(endpoint: string): readonly SpilledMessage[] {
    return this.#waiting.get(endpoint) ?? [];
  }

  /** By endpoint, of which any wait. */
  endpoints(): string[] {
    return [...this.#waiting.keys()];
  }

  /** What was of one endpoint is of another. */
  move(spilled: SpilledMessage, endpoint: string): void {
    const waits = spilled.progress.state === 'received';
    if (waits) take(this.#waiting, spilled.columns.endpoint, spilled);
    spilled.columns = { ...spilled.columns, endpoint };
    if (waits) insert(this.#waiting, endpoint, spilled);
  }

  change(spilled: SpilledMessage, progress: Progress): void {
    const was = spilled.progress.state;
    spilled.progress = progress;
    spilled.change += 1;
    const { state } = progress;
    const { endpoint } = spilled.columns;
    if (was === 'received' && state !== 'received') take(this.#waiting, endpoint, spilled);
    if (was !== 'received' && state === 'received') insert(this.#waiting, endpoint, spilled);
    freeBytes(spilled);
  }
}

function idOf({ station, id, named }: MessageKey): string {
  return `${station}\n${Number(named)}${id}`;
}

function alarmKeyOf({ station, alarm }: Pick<MessageKey, 'station' | 'alarm'>): string | undefined {
  return alarm === undefined ? undefined : alarmOf(station, alarm);
}

/** Security before health, each in its order; what comes back has its place. */
function insert(lists: Map<string, SpilledMessage[]>, key: string, spilled: SpilledMessage): void {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  let at = list.length;
  while (at > 0 && isBefore(spilled, list[at - 1])) at -= 1;
  list.splice(at, 0, spilled);
}

function isBefore(one: SpilledMessage, other: SpilledMessage | undefined): boolean {
  if (other === undefined) return false;
  const ranks = one.columns.rank - other.columns.rank;
  return ranks === 0 ? one.order < other.order : ranks < 0;
}

function take(lists: Map<string, SpilledMessage[]>, key: string, spilled: SpilledMessage): void {
  const list = lists.get(key);
  const at = list?.indexOf(spilled) ?? -1;
  if (list === undefined || at < 0) return;
  list.splice(at, 1);
  if (list.length === 0) lists.delete(key);
}
