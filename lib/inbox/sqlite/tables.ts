import type { DatabaseSync } from 'node:sqlite';
import type { MessageState } from '../model';
import {
  MOST_REMOVED,
  MOST_STEPS,
  type NotedStep,
  QUARANTINE_LIMITS,
  REMOVED_FOR,
  type SlotRow,
  type SlotRowOutcome,
  type SlotRowWrite,
  stepFacts,
  type StepRow,
  type StoreCalls,
} from '../store/port';
import { isOpenState } from '../store/stored-message';
import {
  countsBy,
  quarantinedIn,
  quarantinedSumIn,
  stateCountIn,
  stepRow,
  storedMessage,
} from '../store/stored-row';
import { metaIn } from './database';
import { oneEvent, type OneEvent, type Row, type Statements, type Work } from './statements';

/**
 * Which webhook node has which endpoint; or had, where it is deleted or disabled. The id of a node counts as an endpoint that
 * it had: what goes along waits there while nodes exchange their paths, and would be nobody's where this table is lost with a
 * damaged file.
 * @param moved told of an endpoint at which events wait now that were elsewhere
 */
export function endpointTable(
  statements: Statements,
  moved: (endpoint: string) => void,
): Pick<Work, 'claimEndpoint' | 'leaveEndpoint' | 'assign' | 'openByEndpoint'> {
  const move = (from: string, to: string): void => {
    for (const name of ['moveOpen', 'moveDead', 'moveQuarantined'] as const) statements[name].run(to, from);
    moved(to);
  };
  const waitingAt = (endpoint: string): number => Number(statements.waitingAt.get(endpoint)?.['count'] ?? 0);
  return {
    claimEndpoint({ endpoint, node }) {
      statements.formerEndpoints.run(node, endpoint);
      statements.claimEndpoint.run(endpoint, node);
      const left = statements.endpointsLeft.all(node, node, endpoint);
      for (const row of left) move(String(row['endpoint']), endpoint);
      statements.forgetFormer.run(node, endpoint);
      return waitingAt(endpoint);
    },
    leaveEndpoint({ node }) {
      statements.leaveEndpoint.run(node);
    },
    assign({ from, to, by = null }) {
      const step: NotedStep = { time: Date.now(), step: 'assigned', reason: to };
      // Before they are changed.
      if (from !== to)
        for (const name of ['noteMoved', 'noteMovedDead'] as const)
          statements[name].run(step.time, step.step, null, by, stepFacts(step), from);
      move(from, to);
      return waitingAt(to);
    },
    openByEndpoint: () => countsBy('endpoint', statements.openByEndpoint.all()),
  };
}

/** The order of delivery: what waits longest of either may be the oldest. */
const RANKS = [0, 1];

/**
 * How a file stands.
 * @param clock the clock of the file, in milliseconds
 */
export function figures(statements: Statements, clock: () => number): Pick<Work, 'figures' | 'counts'> {
  return {
    figures(endpoints) {
      const oldest = endpoints.flatMap((endpoint) => {
        const stored = RANKS.flatMap((rank) => statements.oldestAt.get(endpoint, rank)?.['stored'] ?? []);
        const since = Math.round(clock() - Math.min(...stored.map(Number)));
        return stored.length === 0 ? [] : [[endpoint, Math.max(0, since)] as const];
      });
      return {
        oldest: Object.fromEntries(oldest),
        dead: countsBy('station', statements.deadByStation.all()),
      };
    },
    counts({ newest }) {
      const dead = statements.countsOfDead.get();
      return {
        newest: statements.countsOfNewest.all(newest).map(stateCountIn),
        dead: Number(dead?.['count']),
        exhausted: Number(dead?.['exhausted']),
      };
    },
  };
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
    const { time, step: name, verdict } = step;
    if (this.statements.isNoted.get(one[0], time, name, stepFacts(step)) !== undefined) return state;
    if (verdict !== undefined) this.statements.judge.run(verdict, time, ...one);
    this.add(one, step);
    return state;
  }

  of(sequence: number): StepRow[] {
    return this.statements.history.all(sequence).map(stepRow);
  }
}

/**
 * Messages that nothing proved, the oldest of which make room for new ones.
 * @param clock the clock of the file, in milliseconds
 */
export function quarantineTable(
  statements: Statements,
  clock: () => number,
): Pick<Work, 'quarantine' | 'quarantined' | 'quarantinedSums' | 'release' | 'releaseUpTo'> {
  const measure = (): { count: number; bytes: number } => {
    const { count = 0, bytes = 0 } = statements.quarantineSize.get() ?? {};
    return { count: Number(count), bytes: Number(bytes) };
  };
  let held = measure().bytes;
  return {
    quarantine({ endpoint, address, facts, bytes }) {
      statements.quarantine.run(endpoint, address, facts, bytes, Math.round(clock()));
      statements.trimAddress.run(address, QUARANTINE_LIMITS.ofAddress);
      statements.trim.run(QUARANTINE_LIMITS.messages);
      held += bytes.byteLength;
      // Measured anew only when it may be too much: what was trimmed is counted out then, too.
      while (held > QUARANTINE_LIMITS.bytes) {
        const measured = measure();
        held = measured.bytes;
        if (held > QUARANTINE_LIMITS.bytes) statements.trim.run(Math.floor(measured.count * 0.9));
      }
    },
    quarantined: (at) => statements.quarantined.all(at).map(quarantinedIn),
    quarantinedSums: () => statements.quarantinedSums.all().map(quarantinedSumIn),
    release(ids) {
      for (const id of ids) statements.release.run(id);
    },
    releaseUpTo({ endpoint, id }) {
      statements.releaseUpTo.run(endpoint, id);
    },
  };
}

/** Under which name of `meta` it is kept: what it showed, and what the wall clock showed then, in milliseconds. */
export const SLOT_CLOCK = 'slot-clock';

const KEPT = /^(\d{1,15}) (\d{1,15})$/;

/**
 * The clock by which slots end: that of the file does not run while it is closed, but a level that was to last a minute is over
 * after an hour without Node-RED. While the file is open no wall clock moves it; for the time it was closed there is no other,
 * and one that was set back counts as none.
 */
export class SlotClock {
  readonly #atOpen: number;

  /**
   * @param monotonic milliseconds since the file was opened, of a clock that never jumps
   * @param wall milliseconds since 1970
   */
  constructor(
    database: DatabaseSync,
    private readonly monotonic: () => number,
    private readonly wall: () => number = Date.now,
  ) {
    const [, clock, then] = KEPT.exec(metaIn(database, SLOT_CLOCK) ?? '') ?? [];
    const closed = then === undefined ? 0 : Math.max(0, wall() - Number(then));
    // Where it cannot be read: as when a slot was written last.
    const last = database.prepare('SELECT max(written) AS written FROM slot').get();
    this.#atOpen = Math.max(Number(clock ?? 0), Number(last?.['written'] ?? 0)) + closed;
  }

  /** In milliseconds, a whole number. */
  now(): number {
    return Math.round(this.#atOpen + this.monotonic());
  }

  /** As it is to be kept. */
  toString(): string {
    return `${this.now()} ${Math.max(0, Math.round(this.wall()))}`;
  }
}

/**
 * What flows keep, by owner and name. The versions of an owner are counted up.
 * @param keepClock told of each write, for the clock is to be kept with it
 */
export function slotTable(
  statements: Statements,
  clock: SlotClock,
  keepClock: () => void,
): Pick<Work, 'slots' | 'putSlots' | 'slotOwners' | 'dropSlots' | 'slotVersions'> {
  const ownerOf = (owner: string): { version: number; forgotten: number } => {
    const { version = 0, forgotten = 0 } = statements.slotOwner.get(owner) ?? {};
    return { version: Number(version), forgotten: Number(forgotten) };
  };
  const slotOf = ({ name, version, value, ends }: Row): SlotRow => ({
    name: String(name),
    version: Number(version),
    ...(typeof value === 'string' && { value }),
    ...(typeof ends === 'number' && { left: ends - clock.now() }),
  });
  const write = (owner: string, { name, value, lasts }: SlotRowWrite, version: number): SlotRowOutcome => {
    const now = clock.now();
    const isRemoved = value === undefined;
    const ends = isRemoved || lasts === undefined ? null : now + lasts;
    statements.putSlot.run(owner, name, version, value ?? null, ends, now);
    const slot = { name, version, ...(lasts !== undefined && { left: lasts }) };
    return { written: true, ...(!isRemoved && { slot }) };
  };
  const putSlots: Work['putSlots'] = ({ owner, writes }) => {
    const { version: before } = ownerOf(owner);
    let version = before;
    const outcomes = writes.map((wanted) => {
      const found = statements.slot.get(owner, wanted.name);
      if (wanted.expected !== undefined && wanted.expected !== Number(found?.['version'] ?? 0))
        return { written: false, ...(found && { slot: slotOf(found) }) };
      if (wanted.value === undefined && found === undefined) return { written: true };
      version += 1;
      return write(owner, wanted, version);
    });
    if (version > before) {
      statements.setSlotOwner.run(owner, version);
      keepClock();
    }
    return outcomes;
  };
  return {
    putSlots,
    slots({ owner, since }) {
      const { version, forgotten } = ownerOf(owner);
      const isAll = since === 0 || since < forgotten || since > version;
      const rows = isAll ? statements.slots.all(owner) : statements.slotsSince.all(owner, since);
      return { version, isAll, slots: rows.map(slotOf) };
    },
    slotOwners: (prefix) => statements.slotOwners.all(prefix).map(({ owner }) => String(owner)),
    dropSlots({ owner }) {
      const writes = statements.slots.all(owner).map(({ name }) => ({ name: String(name) }));
      putSlots({ owner, writes });
    },
    slotVersions: (owners) => Object.fromEntries(owners.map((owner) => [owner, ownerOf(owner).version])),
  };
}

/** Forgets what was removed long ago. */
export function forgetSlots(statements: Statements, clock: SlotClock): void {
  const before = clock.now() - REMOVED_FOR;
  for (const { owner = null } of statements.slotOwnersRemoved.all()) {
    const version = statements.slotForgotten.get(owner, before, MOST_REMOVED)?.['version'] ?? null;
    if (version === null) continue;
    statements.forgetSlots.run(owner, version);
    statements.setForgotten.run(owner, version);
  }
}
