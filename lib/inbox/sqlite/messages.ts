import type { ListQuery, MessageState } from '../inbox';
import type { Bodies } from './bodies';
import { makeDeliveryId, sequenceIn } from './delivery-id';
import { alarmKey, messageKey } from './key';
import type { KnownMessages } from './known-messages';
import { isFurther } from '../store/stored-message';
import { LIST, storedMessage, type Row, type Statements } from './statements';
import type {
  Accepted,
  Brought,
  Finish,
  GivenBack,
  NewMessage,
  StoredMessage,
  StoreCalls,
} from '../store/protocol';

/** The messages of an inbox and their states. No transactions of its own. */
export class Messages {
  /** Endpoints of which the last lease left none that could be delivered: what comes next need not wait behind others. */
  readonly #drained = new Set<string>();
  #newest: number;
  #doubtfulUpTo = 0;

  /**
   * @param known what is in the file already; the caller tells it what becomes of a transaction
   * @param bodies adds the bodies to what is given, once the transaction is over
   * @param clock the clock of the file, in milliseconds
   * @param newest the last sequence that was given away
   */
  constructor(
    private readonly statements: Statements,
    private readonly known: KnownMessages,
    private readonly bodies: Bodies,
    private readonly clock: () => number,
    newest: number,
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

  accept({ message, lease }: StoreCalls['accept']['take']): Accepted {
    const copies = this.known.copiesOf(message);
    const same = copies.find((row) => row['fingerprint'] === message.fingerprint);
    if (same !== undefined) return repeated(same);
    if (copies.length > 0) return this.#store(message, 'conflict', nextCopy(copies), NO_PHASE);
    if (message.state !== 'received') return this.#store(message, message.state, 0, NO_PHASE);
    const phase = this.known.phaseOf(message);
    const leased = this.#mayLease(message, lease);
    if (!leased) this.#drained.delete(message.endpoint);
    return this.#store(message, leased ? 'leased' : 'received', 0, phase);
  }

  /**
   * What waits under another delivery id, or was stored too late, is the same message: it goes on as the one that was kept beside.
   * One that the flow has not had is a repeat of any copy.
   */
  bring(brought: Brought): number {
    const { message, deliveryId, progress, lateId } = brought;
    const inside = this.statements.find.get(...this.#one(deliveryId));
    if (inside !== undefined) return this.#bringOn(inside, brought);
    const copies = this.known.copiesOf(message);
    const same = copies.filter((row) => row['fingerprint'] === message.fingerprint);
    const own = same.find((row) => row['delivery_id'] === lateId || row['state'] === 'received');
    if (own === undefined && same.length > 0 && progress.attempt === 0) return 0;
    const sequence =
      own === undefined
        ? this.#store(message, progress.state, nextCopy(copies), this.known.phaseOf(message)).sequence
        : Number(own['sequence']);
    this.#setProgress(sequence, message.endpoint, { deliveryId, progress });
    if (progress.attempt > 0) this.#overtake(message, sequence);
    return Number(progress.state === 'received') - Number(own?.['state'] === 'received');
  }

  /**
   * It has entered before, and the process ended before that was noted beside: whichever has come further counts. Or this one did
   * not wait for the answer: then it is as it is beside, also where it waits again, which no row that is leased says.
   */
  #bringOn(inside: Row, brought: Brought): number {
    const { progress, message, wasBrought = false } = brought;
    const row = storedMessage(inside);
    const isOlder = wasBrought && row.state !== 'delivered';
    if (!isOlder && !isFurther(progress, row)) return 0;
    this.#setProgress(row.sequence, message.endpoint, brought);
    return Number(progress.state === 'received') - Number(row.state === 'received');
  }

  #setProgress(
    sequence: number,
    endpoint: string,
    { deliveryId, progress }: Pick<Brought, 'deliveryId' | 'progress'>,
  ): void {
    const { state, attempt, cutOff, atFlow, again = null } = progress;
    this.statements.bring.run(deliveryId, state, attempt, cutOff, Number(atFlow), again, sequence);
    if (state === 'received') this.#drained.delete(endpoint);
  }

  lease({ endpoint, limit, health, ordered }: StoreCalls['lease']['take']): StoredMessage[] {
    let left = health;
    const next = this.statements[ordered ? 'nextOrdered' : 'next'].all(endpoint, limit);
    const rows = next.filter((row) => row['rank'] === 0 || left-- > 0);
    for (const row of rows) this.statements.lease.run(row['sequence'] ?? null);
    if (rows.length < limit && rows.length === next.length) this.#drained.add(endpoint);
    const messages = rows.map((row) => this.#storedEvent(row));
    for (const message of messages) message.attempt += 1;
    this.bodies.want(...messages);
    return messages;
  }

  giveBack({ unsent, cutOff }: GivenBack): number {
    this.#drained.clear();
    const runs = [
      ...unsent.map((id) => this.statements.unsend.run(...this.#one(id))),
      ...cutOff.map((id) => this.statements.cutOff.run(...this.#one(id))),
    ];
    return runs.reduce((sum, { changes }) => sum + Number(changes), 0);
  }

  lapse({ deliveryId, again, maxAttempts }: StoreCalls['lapse']['take']): StoreCalls['lapse']['give'] {
    const one = this.#one(deliveryId);
    const row = this.statements.attempts.get(...one);
    if (row === undefined) return undefined;
    const counted = Number(row['counted']);
    const dead = counted >= maxAttempts;
    this.statements.lapse.run(dead ? 'dead' : 'leased', dead ? 'attempts' : again, ...one);
    return { dead, counted };
  }

  again(deliveryId: string): number | undefined {
    const row = this.statements.again.get(...this.#one(deliveryId));
    return row === undefined ? undefined : Number(row['attempt']);
  }

  markDelivered(deliveryIds: readonly string[]): void {
    for (const id of deliveryIds) this.statements.end.run('delivered', ...this.#one(id));
  }

  finish({ deliveryId, state, give }: Finish): StoreCalls['finish']['give'] {
    const one = this.#one(deliveryId);
    const row = this.statements.find.get(...one);
    if (row === undefined) return undefined;
    const message = this.#storedEvent(row);
    this.statements.end.run(state, ...one);
    this.statements.bury.run(state, ...one);
    if (give) this.bodies.want(message);
    return { was: message.state, endpoint: message.endpoint, ...(give && { message }) };
  }

  revive(deliveryId: string): string | undefined {
    this.#drained.clear();
    const row = this.statements.revive.get(...this.#one(deliveryId));
    return row && String(row['endpoint']);
  }

  dismiss(deliveryId: string): boolean {
    return this.statements.dismiss.run(...this.#one(deliveryId)).changes > 0;
  }

  stateOf(deliveryId: string): MessageState | undefined {
    const row = this.statements.find.get(...this.#one(deliveryId));
    return row && storedMessage(row).state;
  }

  list(query: ListQuery): StoredMessage[] {
    const messages = this.#rowsOf(query).map(storedMessage);
    this.bodies.list(messages);
    return messages;
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
    this.statements.cutOffAll.run();
  }

  /** By endpoint: events that wait. */
  waiting(): Record<string, number> {
    const rows = this.statements.waiting.all();
    return Object.fromEntries(rows.map((row) => [String(row['endpoint']), Number(row['count'])]));
  }

  #rowsOf({ state, since = 0, alarm, deliveryId, limit }: ListQuery): Row[] {
    if (deliveryId !== undefined) return this.statements.find.all(...this.#one(deliveryId));
    if (alarm === undefined) return this.statements[LIST[state]].all(since, limit);
    return this.statements.listAlarm.all(alarm.station, alarm.alarmId, since, limit);
  }

  /** An event, as statements name one. */
  #one(deliveryId: string): [sequence: number, deliveryId: string] {
    const sequence = sequenceIn(deliveryId) ?? this.statements.former.get(deliveryId)?.['sequence'];
    return [Number(sequence ?? 0), deliveryId];
  }

  #storedEvent(row: Row): StoredMessage {
    const message = storedMessage(row);
    return message.sequence > this.#doubtfulUpTo ? message : { ...message, warnings: ['may-repeat'] };
  }

  #store(
    message: NewMessage,
    state: MessageState,
    copy: number,
    { first, ended }: { first: boolean; ended: boolean },
  ): Accepted {
    const isLeased = state === 'leased';
    const isEvent = message.state === 'received' && state !== 'conflict';
    const alarm = isEvent ? (message.alarm ?? null) : null;
    const keys = [
      messageKey(message.station, message.named, message.id),
      alarm === null ? null : alarmKey(message.station, alarm),
    ] as const;
    this.#newest += 1;
    const sequence = this.#newest;
    const deliveryId = makeDeliveryId(sequence, Date.now());
    this.statements.insert.run(
      sequence,
      deliveryId,
      message.station,
      message.id,
      Number(message.named),
      copy,
      message.fingerprint,
      message.endpoint,
      state,
      message.rank,
      Number(isLeased),
      Number(isLeased),
      Number(first),
      Number(ended),
      alarm,
      Number(message.isEnd),
      message.received,
      Math.round(this.clock()),
      ...keys,
    );
    this.statements.insertBody.run(sequence, message.facts, message.bytes);
    this.known.add(sequence, ...keys);
    const outcome = state === 'conflict' ? 'conflict' : 'new';
    return { outcome, deliveryId, sequence, first, ended, leased: isLeased };
  }

  /** The flow has had it, while earlier ones of its alarm waited in an inbox that failed: they come after the end then. */
  #overtake({ station, alarm, endpoint, isEnd }: NewMessage, sequence: number): void {
    if (!isEnd || alarm === undefined) return;
    this.statements.endOpenOfAlarm.run(endpoint, alarmKey(station, alarm), station, alarm, sequence);
  }

  #mayLease(message: NewMessage, lease: 'no' | 'any' | 'ordered'): boolean {
    if (lease === 'no' || !this.#drained.has(message.endpoint)) return false;
    return lease === 'any' || !this.#isOpen(message);
  }

  #isOpen({ station, alarm, endpoint }: NewMessage): boolean {
    if (alarm === undefined) return false;
    const key = alarmKey(station, alarm);
    return this.statements.openOfAlarm.get(endpoint, key, station, alarm) !== undefined;
  }
}

/** Not how many there are: the first may be kept no more. */
function nextCopy(copies: readonly Row[]): number {
  return copies.reduce((next, row) => Math.max(next, Number(row['copy']) + 1), 0);
}

const NO_PHASE = { first: false, ended: false };

function repeated(copy: Row): Accepted {
  const { delivery_id: deliveryId, sequence } = copy;
  return {
    outcome: 'repeat',
    deliveryId: String(deliveryId),
    sequence: Number(sequence),
    ...NO_PHASE,
    leased: false,
  };
}
