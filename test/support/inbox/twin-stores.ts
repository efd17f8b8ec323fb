import assert from 'node:assert/strict';
import type { Store } from '../../../lib/inbox/sqlite/store';
import type {
  Accepted,
  ReturnedLeases,
  LocalCall,
  NewMessage,
  SharedCall,
  StoreCalls,
} from '../../../lib/inbox/store/port';
import type { StoreSession } from '../postgres/stores';

/** What both stores are asked. */
type TwinCall = LocalCall & SharedCall;
type Take<Name extends TwinCall> = StoreCalls[Name]['take'];
type Give<Name extends TwinCall> = StoreCalls[Name]['give'];

/** An event as both stores know it. */
export interface Twin {
  /** The same for both. */
  readonly label: string;
  readonly sqlite: string;
  readonly postgres: string;
}

/**
 * The same inbox twice: in SQLite, and in PostgreSQL, where several instances ask. Whatever is asked of both must be answered alike;
 * ids apart, which each makes for itself.
 */
export class TwinStores {
  readonly twins: Twin[] = [];
  /** By delivery id, of either store. */
  readonly #labels = new Map<string, string>();
  /** By store: the label of a sequence, which must grow from one event to the next. */
  readonly #sequences = { sqlite: new Map<number, string>(), postgres: new Map<number, string>() };
  readonly #alarmNumbers = { sqlite: new Map<string, number>(), postgres: new Map<string, number>() };
  readonly #newest = { sqlite: 0, postgres: 0 };
  /** By label: station and alarm of an event. */
  readonly #alarms = new Map<string, string>();
  /** By station and alarm: its newest event. */
  readonly #newestOfAlarm = new Map<string, Twin>();
  /** Alarms of which SQLite has forgotten the newest event, and with it those before, which PostgreSQL still looks up. */
  readonly #forgotten = new Set<string>();
  /** Labels of their events. */
  readonly #unsure = new Set<string>();
  /** By label: the instance that has leased it. */
  readonly #holders = new Map<string, StoreSession>();
  /** Ids of what is quarantined, of which each store has its own. */
  readonly quarantined: { sqlite: number; postgres: number }[] = [];

  constructor(
    private readonly sqlite: Store,
    private readonly instances: readonly StoreSession[],
  ) {}

  instance(which: number): StoreSession {
    const { length } = this.instances;
    return this.instances[which % length] ?? assert.fail('there is no instance');
  }

  /** The instance that has leased an event; any where none has. */
  holderOf(twin: Twin): StoreSession {
    return this.#holders.get(twin.label) ?? this.instance(0);
  }

  /** An instance that has not leased it. */
  strangerTo(twin: Twin): StoreSession {
    const holder = this.#holders.get(twin.label);
    return this.instances.find((each) => each !== holder) ?? assert.fail('there is but one instance');
  }

  inSqlite<Name extends TwinCall>(name: Name, take: Take<Name>): Give<Name> {
    return this.sqlite.transaction(() => this.sqlite.work[name](take));
  }

  /** Asks both the same, an event apart, and compares the answers. */
  async ask<Name extends TwinCall>(
    name: Name,
    take: Take<Name>,
    { of = take, by = this.instance(0) }: { of?: Take<Name>; by?: StoreSession } = {},
  ): Promise<Give<Name>> {
    const inSqlite = this.inSqlite(name, take);
    const inPostgres = await by.call(name, of);
    this.compare(name, inSqlite, inPostgres);
    return inSqlite;
  }

  /** Accepts messages: one by one, or, in PostgreSQL, as one batch. */
  async accept(calls: readonly Take<'accept'>[], by: StoreSession): Promise<void> {
    const accepted = await by.batch(...calls.map((take) => ['accept', take] as ['accept', typeof take]));
    for (const index of inTurns(calls)) {
      const call = calls[index] ?? assert.fail();
      this.#acceptOne(call, accepted[index] as Accepted, by);
    }
  }

  /** Leases, and tells which events are whose. */
  async lease(take: Take<'lease'>, by: StoreSession): Promise<void> {
    const leased = await this.ask('lease', take, { by });
    for (const { deliveryId } of leased) this.#holders.set(this.#labelOf(deliveryId), by);
  }

  /** Each instance gives back what it holds; what none holds, one that does not. */
  async giveBack(unsent: readonly Twin[], cutOff: readonly Twin[], by: StoreSession): Promise<void> {
    const idsIn = (store: 'sqlite' | 'postgres'): ReturnedLeases => ({
      unsent: unsent.map((twin) => twin[store]),
      cutOff: cutOff.map((twin) => twin[store]),
    });
    const inSqlite = this.inSqlite('giveBack', idsIn('sqlite'));
    let inPostgres = 0;
    for (const instance of this.instances) {
      const isOwn = (twin: Twin): boolean => (this.#holders.get(twin.label) ?? by) === instance;
      inPostgres += await instance.call('giveBack', {
        unsent: unsent.filter(isOwn).map(({ postgres }) => postgres),
        cutOff: cutOff.filter(isOwn).map(({ postgres }) => postgres),
      });
    }
    this.compare('giveBack', inSqlite, inPostgres);
  }

  /** What all instances have leased of an endpoint, together. */
  async leased(endpoint: string): Promise<void> {
    const inPostgres: string[] = [];
    for (const instance of this.instances) inPostgres.push(...(await instance.call('leased', endpoint)));
    const sorted = (ids: readonly string[]): string[] => ids.map((id) => this.#labelOf(id)).sort();
    assert.deepEqual(sorted(inPostgres), sorted(this.inSqlite('leased', endpoint)));
  }

  async quarantine(take: Take<'quarantine'>, by: StoreSession): Promise<void> {
    await this.ask('quarantine', take, { by });
    const newest = (ids: { id: number }[]): number =>
      ids.at(-1)?.id ?? assert.fail('nothing was quarantined');
    this.quarantined.push({
      sqlite: newest(this.inSqlite('quarantined', take.endpoint)),
      postgres: newest(await by.call('quarantined', take.endpoint)),
    });
  }

  compare(name: TwinCall, inSqlite: unknown, inPostgres: unknown): void {
    assert.deepEqual(this.#plain(inPostgres, 'postgres'), this.#plain(inSqlite, 'sqlite'), name);
  }

  #acceptOne(call: Take<'accept'>, inPostgres: Accepted, by: StoreSession): void {
    const mayLease = this.#mayLease(call);
    this.#noteForgotten(call.message);
    const inSqlite = this.inSqlite('accept', call);
    if (inSqlite.outcome !== 'repeat') this.#add(inSqlite, inPostgres, call.message);
    // When it is leased at once, SQLite knows of its last lease alone: less often than PostgreSQL, which looks.
    const { leased } = inPostgres;
    assert.equal(leased, mayLease && inSqlite.outcome === 'new', 'leased at acceptance');
    if (leased && !inSqlite.leased) this.#leaseIn(call.message.endpoint, inSqlite.deliveryId);
    if (!leased && inSqlite.leased) this.inSqlite('giveBack', { unsent: [inSqlite.deliveryId], cutOff: [] });
    if (leased) this.#holders.set(this.#labelOf(inSqlite.deliveryId), by);
    this.compare('accept', { ...inSqlite, leased }, inPostgres);
  }

  /** Nothing waits at its endpoint; and, where order counts, none of its alarm is open. */
  #mayLease({ message, lease }: Take<'accept'>): boolean {
    if (lease === 'no' || message.state !== 'received') return false;
    const open = this.inSqlite('list', { state: 'open', limit: 10_000 }).filter(
      ({ endpoint }) => endpoint === message.endpoint,
    );
    if (open.some(({ state }) => state === 'received')) return false;
    return (
      lease === 'any' || message.alarm === undefined || !open.some((row) => this.#isOfAlarm(row, message))
    );
  }

  #isOfAlarm({ deliveryId }: { deliveryId: string }, message: NewMessage): boolean {
    return this.#alarms.get(this.#labelOf(deliveryId)) === alarmOf(message);
  }

  #leaseIn(endpoint: string, deliveryId: string): void {
    const [leased] = this.inSqlite('lease', { endpoint, limit: 1, health: 1, ordered: false });
    assert.equal(leased?.deliveryId, deliveryId, 'nothing else waits');
  }

  #add(sqlite: Accepted, postgres: Accepted, message: NewMessage): void {
    const label = `event ${this.twins.length}`;
    const twin = { label, sqlite: sqlite.deliveryId, postgres: postgres.deliveryId };
    this.twins.push(twin);
    this.#labels.set(sqlite.deliveryId, label).set(postgres.deliveryId, label);
    if (message.alarm !== undefined) this.#addToAlarm(twin, message);
    for (const [store, { sequence }] of Object.entries({ sqlite, postgres })) {
      const of = store as 'sqlite' | 'postgres';
      assert.ok(sequence > this.#newest[of], `the sequence grows in ${store}`);
      this.#newest[of] = sequence;
      this.#sequences[of].set(sequence, label);
    }
  }

  #addToAlarm(twin: Twin, message: NewMessage): void {
    const alarm = alarmOf(message);
    this.#alarms.set(twin.label, alarm);
    this.#newestOfAlarm.set(alarm, twin);
    if (this.#forgotten.has(alarm)) this.#unsure.add(twin.label);
  }

  #noteForgotten(message: NewMessage): void {
    const alarm = alarmOf(message);
    const newest = this.#newestOfAlarm.get(alarm);
    if (newest === undefined) return;
    const found = this.inSqlite('list', { state: 'all', deliveryId: newest.sqlite, limit: 1 });
    if (found.length === 0) this.#forgotten.add(alarm);
  }

  #labelOf(deliveryId: string): string {
    return this.#labels.get(deliveryId) ?? deliveryId;
  }

  /** What does not depend on which store it is of. */
  #plain(value: unknown, store: 'sqlite' | 'postgres'): unknown {
    if (typeof value === 'string') return wellFormed(this.#labelOf(value));
    if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
    if (Array.isArray(value)) return value.map((each) => this.#plain(each, store));
    if (typeof value !== 'object' || value === null) return value;
    const isUnsure = 'deliveryId' in value && this.#unsure.has(this.#labelOf(String(value.deliveryId)));
    const entries = Object.entries(value).filter(
      ([name, each]) =>
        each !== undefined && name !== 'instance' && !(isUnsure && (name === 'first' || name === 'ended')),
    );
    return Object.fromEntries(entries.map(([name, each]) => [name, this.#plainMember(name, each, store)]));
  }

  /** Each store has names of its own for alarms: in both the same events have the same one. */
  #alarmNumber(name: string, store: 'sqlite' | 'postgres'): number {
    const numbers = this.#alarmNumbers[store];
    const number = numbers.get(name) ?? numbers.size;
    numbers.set(name, number);
    return number;
  }

  #plainMember(name: string, value: unknown, store: 'sqlite' | 'postgres'): unknown {
    if (name === 'sequence') return this.#sequences[store].get(Number(value));
    if (TIMES.includes(name)) return typeof value;
    if (name === 'alarm') return this.#alarmNumber(String(value), store);
    if (name === 'id' && typeof value === 'number')
      return this.quarantined.findIndex((each) => each[store] === value);
    return this.#plain(value, store);
  }
}

/** By the clock of the moment. */
const TIMES: readonly string[] = ['time', 'delivered', 'settled'];

/** The order in which PostgreSQL takes those of a batch: what is known as soon as another of them is in comes behind all others. */
function inTurns(calls: readonly Take<'accept'>[]): number[] {
  const turns: number[][] = [];
  const seen = new Map<string, number>();
  for (const [index, { message }] of calls.entries()) {
    const key = JSON.stringify([message.station, message.id, message.named]);
    const turn = seen.get(key) ?? 0;
    seen.set(key, turn + 1);
    (turns[turn] ??= []).push(index);
  }
  return turns.flat();
}

function alarmOf({ station, alarm }: NewMessage): string {
  return JSON.stringify([station, alarm]);
}

/** As UTF-8 has it: half of a surrogate pair is U+FFFD. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
