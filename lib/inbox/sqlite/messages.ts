import { randomUUID } from 'node:crypto';
import type { HistoryStep, MessageState } from '../model';
import {
  type Accepted,
  type ActOn,
  type Brought,
  endStep,
  type Finish,
  type Known,
  type NewMessage,
  type ReturnedLeases,
  type StoreCalls,
  type StoredMessage,
} from '../store/port';
import type { CarriedRecord } from '../store/carried-record';
import { isFurther, isOpenState } from '../store/stored-message';
import { countsBy, storedMessage, UNKNOWN_PHASE } from '../store/stored-row';
import { alarmKey, type KnownMessages, messageKey } from './known-ids';
import type { Bodies } from './lists';
import { makeDeliveryId, oneEvent, type OneEvent, type Row, type Statements } from './statements';
import type { HistoryTable } from './tables';

type Phase = Pick<Accepted, 'first' | 'ended'>;

/** Rows looked at in one go, so that a commit never waits long. */
const STEP = 500;
const DAY = 24 * 60 * 60 * 1000;

/**
 * Removes what is final and old, by order of insertion: it stops at the first row that is younger.
 * @returns does one step, and is true where there is more to remove. `bodies`: what was stored before this time, in milliseconds
 *   of the clock of the file, needs no body any more; `keys`: and before this one no key, which is kept as long as its body
 */
export function retentionSweep(
  statements: Statements,
  known: KnownMessages,
): (bodies: number, keys: number) => boolean {
  // How far each pass has come. From the start again once a day, for what was open then may be final now.
  const done = { bodies: { sequence: 0, from: 0 }, messages: { sequence: 0, from: 0 } };
  const pass = (what: keyof typeof done, before: number, remove: (row: Row) => void): boolean => {
    const own = done[what];
    if (before - own.from > DAY) Object.assign(own, { sequence: 0, from: before });
    const rows = statements.aging.all(own.sequence, STEP);
    for (const row of rows) {
      if (Number(row['stored']) >= before) return false;
      if (row['final'] === 1) remove(row);
      own.sequence = Number(row['sequence']);
    }
    return rows.length === STEP;
  };
  return (bodies, keys) => {
    const more = pass('bodies', bodies, ({ sequence = null }) => {
      statements.deleteBody.run(sequence);
      // Names and remarks of people are in it.
      statements.deleteHistory.run(sequence);
    });
    return pass('messages', Math.min(keys, bodies), (row) => known.remove(row)) || more;
  };
}

/** What the flow had of a message is over with the process, or the consumer. */
const CUT_OFF: HistoryStep = 'cut-off';

/** The messages of an inbox and their states. No transactions of its own. */
export class Messages {
  /** Endpoints of which the last lease left none that could be delivered: what comes next need not wait behind others. */
  readonly #drained = new Set<string>();
  #doubtfulUpTo = 0;
  #newest: number;

  /**
   * @param known the caller tells it what becomes of a transaction
   * @param bodies adds the bodies to what is given, once the transaction is over
   * @param clock the clock of the file, in milliseconds
   * @param newest the last sequence that was given away
   * @param isSpare true of those beside an inbox, which say `first` and `ended` as far as the inbox is known; in the inbox they
   *   have another sequence, which their id must not tell
   */
  constructor(
    private readonly statements: Statements,
    private readonly known: KnownMessages,
    private readonly bodies: Bodies,
    private readonly history: HistoryTable,
    private readonly clock: () => number,
    newest: number,
    private readonly isSpare = false,
  ) {
    this.#newest = newest;
  }

  /** The last sequence that was given away: also where its message is kept no more, none is given twice. */
  get newest(): number {
    return this.#newest;
  }

  /** Events up to this sequence may have been delivered already: they say so. */
  doubt(sequence: number): void {
    this.#doubtfulUpTo = sequence;
  }

  accept({ message, lease, known }: StoreCalls['accept']['take']): Accepted {
    const copies = this.known.copiesOf(message);
    const same = copies.find((row) => row['fingerprint'] === message.fingerprint);
    if (same !== undefined) return repeated(same);
    if (copies.length > 0 || known?.outcome === 'conflict')
      return this.#add(message, 'conflict', nextCopy(copies), NO_PHASE);
    if (message.state === 'filtered') return this.#add(message, message.state, 0, UNSEEN);
    if (message.state !== 'received') return this.#add(message, message.state, 0, NO_PHASE);
    const phase = this.#phaseOf(message, known);
    const leased = this.#mayLease(message, lease);
    if (!leased) this.#drained.delete(message.endpoint);
    return this.#add(message, leased ? 'leased' : 'received', 0, phase);
  }

  /**
   * What waits under another delivery id, or was stored too late, is the same message: it goes on as the one that was kept
   * beside. One that the flow has not had is a repeat of any copy, also of one that waits to come again, and has to say so.
   */
  bring(brought: Brought): number {
    const { record, lateId } = brought;
    const inside = this.statements.find.get(...this.#one(record.delivery_id));
    if (inside !== undefined) return this.#bringOn(inside, brought);
    const message = messageOf(record);
    const copies = this.known.copiesOf(message);
    const same = copies.filter((row) => row['fingerprint'] === message.fingerprint);
    const own = same.find((row) => row['delivery_id'] === lateId || mayBeOverlaid(row, record));
    if (own === undefined && same.length > 0 && record.attempt === 0) return 0;
    const sequence =
      own === undefined
        ? this.#add(message, record.state as MessageState, nextCopy(copies), this.known.phaseOf(message))
            .sequence
        : Number(own['sequence']);
    this.#setProgress(sequence, record);
    if (record.attempt > 0) this.#overtake(message, sequence);
    return Number(record.state === 'received') - Number(own?.['state'] === 'received');
  }

  /**
   * It has entered before, and the process ended before that was noted beside: whichever has come further counts. Or this one
   * did not wait for the answer: then it is as it is beside, also where it waits again, which no row that is leased says.
   */
  #bringOn(inside: Row, { record, wasBrought }: Brought): number {
    const row = storedMessage(inside);
    const isOlder = wasBrought === true && row.state !== 'delivered';
    if (!isOlder && !isFurther({ ...record, state: record.state as MessageState }, row)) return 0;
    this.#setProgress(row.sequence, record);
    return Number(record.state === 'received') - Number(row.state === 'received');
  }

  #setProgress(sequence: number, record: CarriedRecord): void {
    const { delivery_id: id, state, attempt, cut_off: cutOff, at_flow: atFlow, again } = record;
    const { delivered, settled, settled_by: by, judged, verdict } = record;
    const course = [delivered, settled, by, judged, verdict] as const;
    this.statements.bring.run(id, state, attempt, cutOff, atFlow, again, ...course, sequence);
    this.statements.deleteHistory.run(sequence);
    for (const { place, time, step, attempt: of, actor, facts } of record.steps)
      this.statements.bringStep.run(sequence, place, time, step, of, actor, facts);
    if (state === 'received') this.#drained.delete(record.endpoint);
  }

  lease({ endpoint, limit, health, ordered, except }: StoreCalls['lease']['take']): StoredMessage[] {
    let left = health;
    const next = ordered
      ? this.statements.nextOrdered.all(endpoint, JSON.stringify(except ?? []), limit)
      : this.statements.next.all(endpoint, limit);
    const rows = next.filter((row) => row['rank'] === 0 || left-- > 0);
    const time = Date.now();
    for (const row of rows) this.statements.lease.run(time, row['sequence'] ?? null);
    if (rows.length < limit && rows.length === next.length) this.#drained.add(endpoint);
    const messages = rows.map((row) => this.#storedEvent(row));
    for (const message of messages) {
      message.attempt += 1;
      const { sequence, deliveryId, attempt } = message;
      // The first is in its row.
      if (attempt > 1) this.history.add([sequence, deliveryId], { time, step: 'delivered', attempt });
    }
    this.bodies.want(...messages);
    return messages;
  }

  giveBack({ unsent, cutOff }: ReturnedLeases): number {
    this.#drained.clear();
    let count = 0;
    for (const one of unsent.map((id) => this.#one(id))) {
      const changes = Number(this.statements.unsend.run(...one).changes);
      if (changes > 0) this.statements.forgetUnsent.run(one[0]);
      count += changes;
    }
    for (const one of cutOff.map((id) => this.#one(id))) {
      this.statements.noteCutOff.run(Date.now(), CUT_OFF, null, null, ...one);
      count += Number(this.statements.cutOff.run(...one).changes);
    }
    return count;
  }

  lapse({ deliveryId, again, maxAttempts, by }: StoreCalls['lapse']['take']): StoreCalls['lapse']['give'] {
    const one = this.#one(deliveryId);
    const row = this.statements.attempts.get(...one);
    if (row === undefined) return undefined;
    const counted = Number(row['counted']);
    const dead = counted >= maxAttempts;
    this.statements.lapse.run(dead ? 'dead' : 'leased', dead ? 'attempts' : again, ...one);
    const time = Date.now();
    const step = again === 'retry' ? 'retry' : 'lapsed';
    this.history.add(one, { time, step, ...(by !== undefined && { by }) });
    if (dead) this.history.add(one, { time, step: 'dead', reason: 'attempts' });
    return { dead, counted };
  }

  again(deliveryId: string): number | undefined {
    const one = this.#one(deliveryId);
    const row = this.statements.again.get(...one);
    if (row === undefined) return undefined;
    const attempt = Number(row['attempt']);
    this.history.add(one, { time: Date.now(), step: 'delivered', attempt });
    return attempt;
  }

  markDelivered(deliveryIds: readonly string[]): void {
    const time = Date.now();
    for (const id of deliveryIds) this.statements.end.run('delivered', time, null, ...this.#one(id));
  }

  finish({ deliveryId, state, give, step = endStep(state) }: Finish): StoreCalls['finish']['give'] {
    const one = this.#one(deliveryId);
    const row = this.statements.find.get(...one);
    if (row === undefined) return undefined;
    const message = this.#storedEvent(row);
    const course = state === 'delivered' ? ([step.time, step.by ?? null] as const) : ([null, null] as const);
    this.statements.end.run(state, ...course, ...one);
    this.statements.bury.run(state, ...course, ...one);
    const ends = isOpenState(message.state) || message.again === 'attempts';
    if (ends && state === 'dead') this.history.add(one, step);
    if (give) this.bodies.want(message);
    return { was: message.state, endpoint: message.endpoint, ...(give && { message }) };
  }

  revive({ deliveryId, ...by }: ActOn): string | undefined {
    this.#drained.clear();
    const one = this.#one(deliveryId);
    const row = this.statements.revive.get(...one);
    if (row === undefined) return undefined;
    this.history.add(one, { time: Date.now(), step: 'delivered-again', ...by });
    return String(row['endpoint']);
  }

  dismiss({ deliveryId, ...by }: ActOn): boolean {
    const one = this.#one(deliveryId);
    if (this.statements.dismiss.run(...one).changes === 0) return false;
    this.history.add(one, { time: Date.now(), step: 'discarded', ...by });
    return true;
  }

  stateOf(deliveryId: string): MessageState | undefined {
    const row = this.statements.find.get(...this.#one(deliveryId));
    return row && storedMessage(row).state;
  }

  /** After a transaction that failed: nothing of it has happened. */
  forgetWork(): void {
    this.#drained.clear();
  }

  /** Some wait there that were elsewhere. */
  waitsAt(endpoint: string): void {
    this.#drained.delete(endpoint);
  }

  leased(endpoint: string): string[] {
    return this.statements.leased.all(endpoint).map((row) => String(row['delivery_id']));
  }

  /** What an earlier process had leased waits again: its leases ended with it. */
  forgetLeases(): void {
    this.statements.noteCutOffAll.run(Date.now(), CUT_OFF, null, null);
    this.statements.cutOffAll.run();
  }

  /** By endpoint: events that wait. */
  waiting(): Record<string, number> {
    return countsBy('endpoint', this.statements.waiting.all());
  }

  /** As `alarmOf` names them. */
  openAlarms(endpoint: string): string[] {
    return this.statements.openAlarms.all(endpoint).map((row) => String(row['alarm']));
  }

  /** A new row, under a sequence of its own. */
  #add(message: NewMessage, state: MessageState, copy: number, { first, ended }: Phase): Accepted {
    const isLeased = state === 'leased';
    const isEvent = message.state === 'received' && state !== 'conflict';
    const alarm = isEvent ? (message.alarm ?? null) : null;
    const { station, named, id } = message;
    const keys = [messageKey(station, named, id), alarm === null ? null : alarmKey(station, alarm)] as const;
    this.#newest += 1;
    const sequence = this.#newest;
    const now = Date.now();
    const deliveryId = this.isSpare ? randomUUID() : makeDeliveryId(sequence, now);
    this.statements.insert.run(
      sequence,
      deliveryId,
      station,
      id,
      Number(named),
      copy,
      message.fingerprint,
      message.endpoint,
      state,
      message.rank,
      Number(isLeased),
      Number(isLeased),
      Number(first ?? UNKNOWN_PHASE),
      Number(ended ?? UNKNOWN_PHASE),
      alarm,
      Number(message.isEnd),
      message.received,
      Math.round(this.clock()),
      ...keys,
      isLeased ? now : null,
      this.isSpare ? (message.node ?? null) : null,
    );
    this.statements.insertBody.run(sequence, message.facts, message.bytes);
    this.known.add(sequence, ...keys);
    const outcome = state === 'conflict' ? 'conflict' : 'new';
    return { outcome, deliveryId, sequence, first, ended, leased: isLeased };
  }

  #one(deliveryId: string): OneEvent {
    return oneEvent(this.statements, deliveryId);
  }

  #storedEvent(row: Row): StoredMessage {
    const message = storedMessage(row);
    return message.sequence > this.#doubtfulUpTo ? message : { ...message, warnings: ['may-repeat'] };
  }

  /** The flow has had it, while earlier ones of its alarm waited in an inbox that failed: they come after the end then. */
  #overtake({ station, alarm, endpoint, isEnd }: NewMessage, sequence: number): void {
    if (!isEnd || alarm === undefined) return;
    this.statements.endOpenOfAlarm.run(endpoint, alarmKey(station, alarm), station, alarm, sequence);
  }

  #mayLease({ station, alarm, endpoint }: NewMessage, lease: 'no' | 'any' | 'ordered'): boolean {
    if (lease === 'no') return false;
    // A spare is asked for each: while nothing waits in it, nobody leases of it.
    const isDrained = this.isSpare
      ? this.statements.anyWaits.get(endpoint) === undefined
      : this.#drained.has(endpoint);
    if (!isDrained || lease === 'any' || alarm === undefined) return isDrained;
    const key = alarmKey(station, alarm);
    return this.statements.openOfAlarm.get(endpoint, key, station, alarm) === undefined;
  }

  #phaseOf(message: NewMessage, known: Known | undefined): Phase {
    const own = this.known.phaseOf(message);
    if (!this.isSpare) return own;
    if (known === undefined) return { first: null, ended: null };
    return { first: known.first && own.first, ended: known.ended || own.ended };
  }
}

/** As it was accepted; what has no place in the order of an alarm names none. */
function messageOf(record: CarriedRecord & { node?: string | null }): NewMessage {
  const { station, id, fingerprint, endpoint, received, alarm, node = null, facts, bytes } = record;
  return {
    station,
    id,
    named: record.named === 1,
    fingerprint,
    endpoint,
    ...(node !== null && { node }),
    state: 'received',
    rank: record.rank === 1 ? 1 : 0,
    ...(alarm !== null && { alarm }),
    isEnd: record.is_end === 1,
    received,
    facts: facts ?? '{}',
    bytes: bytes ?? new Uint8Array(),
  };
}

/** Not how many there are: the first may be kept no more. */
function nextCopy(copies: readonly Row[]): number {
  return copies.reduce((next, row) => Math.max(next, Number(row['copy']) + 1), 0);
}

function mayBeOverlaid({ state, attempt }: Row, brought: CarriedRecord): boolean {
  return state === 'received' && (attempt === 0 || brought.attempt > 0);
}

const NO_PHASE = { first: false, ended: false };
/** Should it be delivered after all: the flow has not seen its alarm. */
const UNSEEN = { first: true, ended: false };

function repeated(copy: Row): Accepted {
  const [deliveryId, sequence] = [String(copy['delivery_id']), Number(copy['sequence'])];
  return { outcome: 'repeat', deliveryId, sequence, ...NO_PHASE, leased: false };
}
