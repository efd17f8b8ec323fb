import type { InboxCounts, InboxFigures, MessageState } from '../model';
import {
  MOST_REMOVED,
  MOST_STEPS,
  type NotedStep,
  QUARANTINE_LIMITS,
  type Quarantined,
  type QuarantinedSum,
  REMOVED_FOR,
  type SlotRow,
  type SlotRowOutcome,
  type SlotRows,
  type SlotRowWrite,
  stepFacts,
  stepRow,
  type StepRow,
  type StoreCalls,
} from '../store/port';
import type { CarriedStep } from '../store/carried-record';
import { isOpenState } from '../store/stored-message';
import { oneEvent, type OneEvent, type Row, type Statements, storedMessage } from './statements';

/**
 * Which webhook node has which endpoint; or had, where it is deleted or disabled. The id of a node counts as an endpoint that
 * it had: what goes along waits there while nodes exchange their paths, and would be nobody's where this table is lost with a
 * damaged file.
 */
export class EndpointTable {
  /** @param moved told of an endpoint at which events wait now that were elsewhere */
  constructor(
    private readonly statements: Statements,
    private readonly history: HistoryTable,
    private readonly moved: (endpoint: string) => void,
  ) {}

  claim({ endpoint, node }: StoreCalls['claimEndpoint']['take']): number {
    this.statements.formerEndpoints.run(node, endpoint);
    this.statements.claimEndpoint.run(endpoint, node);
    const left = this.statements.endpointsLeft.all(node, node, endpoint);
    for (const row of left) this.#move(String(row['endpoint']), endpoint);
    this.statements.forgetFormer.run(node, endpoint);
    return this.#waitingAt(endpoint);
  }

  leave({ node }: StoreCalls['leaveEndpoint']['take']): void {
    this.statements.leaveEndpoint.run(node);
  }

  assign({ from, ...assigned }: StoreCalls['assign']['take']): number {
    const { to } = assigned;
    if (from !== to) this.history.assigned(from, assigned);
    this.#move(from, to);
    return this.#waitingAt(to);
  }

  open(): Record<string, number> {
    const rows = this.statements.openByEndpoint.all();
    return Object.fromEntries(rows.map((row) => [String(row['endpoint']), Number(row['count'])]));
  }

  #move(from: string, to: string): void {
    this.statements.moveOpen.run(to, from);
    this.statements.moveDead.run(to, from);
    this.statements.moveQuarantined.run(to, from);
    this.moved(to);
  }

  #waitingAt(endpoint: string): number {
    return Number(this.statements.waitingAt.get(endpoint)?.['count'] ?? 0);
  }
}

/** The order of delivery: what waits longest of either may be the oldest. */
const RANKS = [0, 1];

/** How a file stands. No transactions of its own. */
export class Figures {
  /** @param clock the clock of the file, in milliseconds */
  constructor(
    private readonly statements: Statements,
    private readonly clock: () => number,
  ) {}

  /** @param endpoints those at which events may wait */
  all(endpoints: readonly string[]): InboxFigures {
    const oldest = endpoints.flatMap((endpoint) => {
      const stored = RANKS.flatMap((rank) => this.statements.oldestAt.get(endpoint, rank)?.['stored'] ?? []);
      return stored.length === 0 ? [] : [[endpoint, this.#since(Math.min(...stored.map(Number)))] as const];
    });
    const dead = this.statements.deadByStation.all();
    return {
      oldest: Object.fromEntries(oldest),
      dead: Object.fromEntries(dead.map((row) => [String(row['station']), Number(row['count'])])),
    };
  }

  counts({ newest }: { newest: number }): InboxCounts {
    const rows = this.statements.countsOfNewest.all(newest);
    const dead = this.statements.countsOfDead.get();
    return {
      newest: rows.map((row) => ({
        station: String(row['station']),
        state: String(row['state']) as MessageState,
        count: Number(row['count']),
        last: Number(row['last']),
      })),
      dead: Number(dead?.['count']),
      exhausted: Number(dead?.['exhausted']),
    };
  }

  #since(stored: number): number {
    return Math.max(0, Math.round(this.clock() - stored));
  }
}

/** The steps of messages beyond their usual course, which stands in the rows of the messages. */
export class HistoryTable {
  constructor(private readonly statements: Statements) {}

  /** What is known of a message that is there. */
  add(one: OneEvent, step: NotedStep): void {
    const { time, attempt = null, by = null } = step;
    this.statements.note.run(time, step.step, attempt, by, stepFacts(step), ...one);
    this.statements.trimHistory.run(one[0], MOST_STEPS);
  }

  /** Once, however often it is asked. */
  note({ deliveryId, step, ifOpen = false }: StoreCalls['note']['take']): MessageState | undefined {
    const one = oneEvent(this.statements, deliveryId);
    const row = this.statements.find.get(...one);
    if (row === undefined) return undefined;
    const { state } = storedMessage(row);
    if (ifOpen && !isOpenState(state)) return state;
    const { time, step: name } = step;
    if (this.statements.isNoted.get(one[0], time, name, stepFacts(step)) !== undefined) return state;
    if (step.verdict !== undefined) this.statements.judge.run(step.verdict, step.time, ...one);
    this.add(one, step);
    return state;
  }

  /** What the flow had of a message is over with the process, or the consumer; to be told before the message is changed. */
  cutOff(one: OneEvent): void {
    this.statements.noteCutOff.run(Date.now(), 'cut-off', null, null, ...one);
  }

  /** And of all that are leased. */
  cutOffAll(): void {
    this.statements.noteCutOffAll.run(Date.now(), 'cut-off', null, null);
  }

  /** It was not delivered after all; to be told after the message is changed. */
  unsent([sequence]: OneEvent): void {
    this.statements.forgetUnsent.run(sequence);
  }

  /** Open events and dead letters of an endpoint are given to another; to be told before they are changed. */
  assigned(from: string, { to, by = null }: { to: string; by?: string | null }): void {
    const step: NotedStep = { time: Date.now(), step: 'assigned', reason: to };
    for (const statement of ['noteMoved', 'noteMovedDead'] as const)
      this.statements[statement].run(step.time, step.step, null, by, stepFacts(step), from);
  }

  /** In place of what was known. */
  replace(sequence: number, steps: readonly CarriedStep[]): void {
    this.statements.deleteHistory.run(sequence);
    for (const { place, time, step, attempt, actor, facts } of steps)
      this.statements.bringStep.run(sequence, place, time, step, attempt, actor, facts);
  }

  of(sequence: number): StepRow[] {
    return this.statements.history
      .all(sequence)
      .map(({ place, time, step, attempt, actor, facts }) =>
        stepRow({ place, time, step, attempt, actor, facts }),
      );
  }
}

/** Messages that nothing proved, the oldest of which make room for new ones. */
export class QuarantineTable {
  #bytes: number;

  /** @param clock the clock of the file, in milliseconds */
  constructor(
    private readonly statements: Statements,
    private readonly clock: () => number,
  ) {
    this.#bytes = this.#measure().bytes;
  }

  add({ endpoint, address, facts, bytes }: Quarantined): void {
    this.statements.quarantine.run(endpoint, address, facts, bytes, Math.round(this.clock()));
    this.statements.trimAddress.run(address, QUARANTINE_LIMITS.ofAddress);
    this.statements.trim.run(QUARANTINE_LIMITS.messages);
    this.#bytes += bytes.byteLength;
    // Measured anew only when it may be too much: what was trimmed is counted out then, too.
    while (this.#bytes > QUARANTINE_LIMITS.bytes) {
      const { count, bytes: held } = this.#measure();
      this.#bytes = held;
      if (held > QUARANTINE_LIMITS.bytes) this.statements.trim.run(Math.floor(count * 0.9));
    }
  }

  ofEndpoint(endpoint: string): (Quarantined & { id: number })[] {
    return this.statements.quarantined.all(endpoint).map((row) => ({
      id: Number(row['id']),
      endpoint: String(row['endpoint']),
      address: String(row['address']),
      facts: String(row['facts']),
      bytes: row['bytes'] instanceof Uint8Array ? row['bytes'] : new Uint8Array(),
    }));
  }

  sums(): QuarantinedSum[] {
    return this.statements.quarantinedSums.all().map((row) => ({
      endpoint: String(row['endpoint']),
      count: Number(row['count']),
      id: Number(row['id']),
      facts: String(row['facts']),
    }));
  }

  releaseUpTo(endpoint: string, id: number): void {
    this.statements.releaseUpTo.run(endpoint, id);
  }

  release(ids: readonly number[]): void {
    for (const id of ids) this.statements.release.run(id);
  }

  /** @param before what was stored before this time, in milliseconds of the clock of the file, goes */
  tidy(before: number): void {
    this.statements.releaseOld.run(before);
  }

  #measure(): { count: number; bytes: number } {
    const row = this.statements.quarantineSize.get();
    return { count: Number(row?.['count'] ?? 0), bytes: Number(row?.['bytes'] ?? 0) };
  }
}

/** Under which name of `meta` it is kept: what it showed, and what the wall clock showed then, in milliseconds. */
export const SLOT_CLOCK = 'slot-clock';

const KEPT = /^(\d{1,15}) (\d{1,15})$/;

interface SlotClockOptions {
  /** As `meta` has it. */
  kept: string | undefined;
  /** When a slot was written last, in milliseconds of this clock: where it cannot be read. */
  written: number;
  /** Milliseconds since the file was opened, of a clock that never jumps. */
  monotonic: () => number;
  /** Milliseconds since 1970. */
  wall: () => number;
}

/**
 * The clock by which slots end: that of the file does not run while it is closed, but a level that was to last a minute is over
 * after an hour without Node-RED. While the file is open no wall clock moves it; for the time it was closed there is no other,
 * and one that was set back counts as none.
 */
export class SlotClock {
  readonly #atOpen: number;

  constructor(private readonly options: SlotClockOptions) {
    const { kept, written, wall } = options;
    const [, clock, then] = KEPT.exec(kept ?? '') ?? [];
    const closed = then === undefined ? 0 : Math.max(0, wall() - Number(then));
    this.#atOpen = Math.max(Number(clock ?? 0), written) + closed;
  }

  /** In milliseconds, a whole number. */
  now(): number {
    return Math.round(this.#atOpen + this.options.monotonic());
  }

  /** As it is to be kept. */
  toString(): string {
    return `${this.now()} ${Math.max(0, Math.round(this.options.wall()))}`;
  }
}

/** What flows keep, by owner and name. The versions of an owner are counted up. */
export class SlotTable {
  /** @param keepClock told of each write, for the clock is to be kept with it */
  constructor(
    private readonly statements: Statements,
    private readonly clock: SlotClock,
    private readonly keepClock: () => void,
  ) {}

  slots({ owner, since }: StoreCalls['slots']['take']): SlotRows {
    const { version, forgotten } = this.#ownerOf(owner);
    const isAll = since === 0 || since < forgotten || since > version;
    const rows = isAll ? this.statements.slots.all(owner) : this.statements.slotsSince.all(owner, since);
    return { version, isAll, slots: rows.map((row) => this.#slotOf(row)) };
  }

  put({ owner, writes }: StoreCalls['putSlots']['take']): SlotRowOutcome[] {
    const { version: before } = this.#ownerOf(owner);
    let version = before;
    const outcomes = writes.map((write) => {
      const found = this.statements.slot.get(owner, write.name);
      if (write.expected !== undefined && write.expected !== Number(found?.['version'] ?? 0))
        return { written: false, ...(found && { slot: this.#slotOf(found) }) };
      if (write.value === undefined && found === undefined) return { written: true };
      version += 1;
      return { written: true, ...this.#write(owner, write, version) };
    });
    if (version > before) this.#setVersion(owner, version);
    return outcomes;
  }

  owners(prefix: string): string[] {
    return this.statements.slotOwners.all(prefix).map((row) => String(row['owner']));
  }

  drop({ owner }: StoreCalls['dropSlots']['take']): void {
    const names = this.statements.slots.all(owner).map((row) => String(row['name']));
    this.put({ owner, writes: names.map((name) => ({ name })) });
  }

  versions(owners: readonly string[]): Record<string, number> {
    return Object.fromEntries(owners.map((owner) => [owner, this.#ownerOf(owner).version]));
  }

  /** Forgets what was removed long ago. */
  tidy(): void {
    const before = this.clock.now() - REMOVED_FOR;
    for (const { owner = null } of this.statements.slotOwnersRemoved.all()) {
      const version = this.statements.slotForgotten.get(owner, before, MOST_REMOVED)?.['version'] ?? null;
      if (version === null) continue;
      this.statements.forgetSlots.run(owner, version);
      this.statements.setForgotten.run(owner, version);
    }
  }

  #write(owner: string, { name, value, lasts }: SlotRowWrite, version: number): { slot?: SlotRow } {
    const now = this.clock.now();
    const isRemoved = value === undefined;
    const ends = isRemoved || lasts === undefined ? null : now + lasts;
    this.statements.putSlot.run(owner, name, version, value ?? null, ends, now);
    return isRemoved ? {} : { slot: { name, version, ...(lasts !== undefined && { left: lasts }) } };
  }

  #setVersion(owner: string, version: number): void {
    this.statements.setSlotOwner.run(owner, version);
    this.keepClock();
  }

  #ownerOf(owner: string): { version: number; forgotten: number } {
    const row = this.statements.slotOwner.get(owner);
    return { version: Number(row?.['version'] ?? 0), forgotten: Number(row?.['forgotten'] ?? 0) };
  }

  #slotOf({ name, version, value, ends }: Row): SlotRow {
    return {
      name: String(name),
      version: Number(version),
      ...(typeof value === 'string' && { value }),
      ...(typeof ends === 'number' && { left: ends - this.clock.now() }),
    };
  }
}
