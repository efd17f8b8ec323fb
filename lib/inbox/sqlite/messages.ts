import { randomUUID } from 'node:crypto';
import type { SQLOutputValue } from 'node:sqlite';
import type { ListQuery, MessageState } from '../inbox';
import type { Bodies } from './bodies';
import { LIST, type Statements } from './statements';
import type { Accepted, Finish, GivenBack, NewMessage, StoredMessage, StoreCalls } from '../store/protocol';

type Row = Record<string, SQLOutputValue>;

/** The messages of an inbox and their states. No transactions of its own. */
export class Messages {
  /** Endpoints of which the last lease left none that could be delivered: what comes next need not wait behind others. */
  readonly #drained = new Set<string>();

  /**
   * @param bodies adds the bodies to what is given, once the transaction is over
   * @param clock the clock of the file, in milliseconds
   */
  constructor(
    private readonly statements: Statements,
    private readonly bodies: Bodies,
    private readonly clock: () => number,
  ) {}

  accept({ message, lease }: StoreCalls['accept']['take']): Accepted {
    const known = this.statements.known.all(message.station, message.id, Number(message.named));
    const copy = known.find((row) => row['fingerprint'] === message.fingerprint);
    if (copy !== undefined) return repeated(copy);
    // Not how many there are: the first may be kept no more.
    const last = known.at(-1);
    if (last !== undefined) return this.#store(message, 'conflict', Number(last['copy']) + 1, NO_PHASE);
    if (message.state !== 'received') return this.#store(message, message.state, 0, NO_PHASE);
    const phase = this.#phaseOf(message);
    const leased = this.#mayLease(message, lease);
    if (!leased) this.#drained.delete(message.endpoint);
    return this.#store(message, leased ? 'leased' : 'received', 0, phase);
  }

  lease({ endpoint, limit, health, ordered }: StoreCalls['lease']['take']): StoredMessage[] {
    let left = health;
    const next = this.statements[ordered ? 'nextOrdered' : 'next'].all(endpoint, limit);
    const rows = next.filter((row) => row['rank'] === 0 || left-- > 0);
    for (const row of rows) this.statements.lease.run(row['sequence'] ?? null);
    if (rows.length < limit && rows.length === next.length) this.#drained.add(endpoint);
    const messages = rows.map(storedMessage);
    for (const message of messages) message.attempt += 1;
    this.bodies.want(...messages);
    return messages;
  }

  giveBack({ unsent, cutOff }: GivenBack): number {
    this.#drained.clear();
    const runs = [
      ...unsent.map((id) => this.statements.unsend.run(id)),
      ...cutOff.map((id) => this.statements.cutOff.run(id)),
    ];
    return runs.reduce((sum, { changes }) => sum + Number(changes), 0);
  }

  lapse({ deliveryId, again, maxAttempts }: StoreCalls['lapse']['take']): StoreCalls['lapse']['give'] {
    const row = this.statements.attempts.get(deliveryId);
    if (row === undefined) return undefined;
    const counted = Number(row['counted']);
    const dead = counted >= maxAttempts;
    this.statements.lapse.run(dead ? 'dead' : 'leased', dead ? 'attempts' : again, deliveryId);
    return { dead, counted };
  }

  again(deliveryId: string): number | undefined {
    const row = this.statements.again.get(deliveryId);
    return row === undefined ? undefined : Number(row['attempt']);
  }

  markDelivered(deliveryIds: readonly string[]): void {
    for (const id of deliveryIds) this.statements.end.run('delivered', id);
  }

  finish({ deliveryId, state, give }: Finish): StoreCalls['finish']['give'] {
    const row = this.statements.find.get(deliveryId);
    if (row === undefined) return undefined;
    const message = storedMessage(row);
    this.statements.end.run(state, deliveryId);
    this.statements.bury.run(state, deliveryId);
    if (give) this.bodies.want(message);
    return { was: message.state, endpoint: message.endpoint, ...(give && { message }) };
  }

  revive(deliveryId: string): string | undefined {
    this.#drained.clear();
    const row = this.statements.revive.get(deliveryId);
    return row && String(row['endpoint']);
  }

  dismiss(deliveryId: string): boolean {
    return this.statements.dismiss.run(deliveryId).changes > 0;
  }

  stateOf(deliveryId: string): MessageState | undefined {
    const row = this.statements.find.get(deliveryId);
    return row && storedMessage(row).state;
  }

  list({ state, since = 0, limit }: ListQuery): StoredMessage[] {
    const messages = this.statements[LIST[state]].all(since, limit).map(storedMessage);
    this.bodies.list(messages);
    return messages;
  }

  /** After a transaction that failed: nothing of it has happened. */
  forgetWork(): void {
    this.#drained.clear();
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

  #store(
    message: NewMessage,
    state: MessageState,
    copy: number,
    { first, ended }: { first: boolean; ended: boolean },
  ): Accepted {
    const deliveryId = uuidAt(Date.now());
    const isLeased = state === 'leased';
    const isEvent = isLeased || state === 'received';
    const { lastInsertRowid } = this.statements.insert.run(
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
      isEvent ? (message.alarm ?? null) : null,
      Number(message.isEnd),
      message.received,
      Math.round(this.clock()),
    );
    this.statements.insertBody.run(lastInsertRowid, message.facts, message.bytes);
    const outcome = state === 'conflict' ? 'conflict' : 'new';
    return { outcome, deliveryId, sequence: Number(lastInsertRowid), first, ended, leased: isLeased };
  }

  #phaseOf({ station, alarm }: NewMessage): { first: boolean; ended: boolean } {
    if (alarm === undefined) return { first: true, ended: false };
    const before = this.statements.isEndOfAlarm.get(station, alarm);
    return { first: before === undefined, ended: before?.['is_end'] === 1 };
  }

  #mayLease(message: NewMessage, lease: 'no' | 'any' | 'ordered'): boolean {
    if (lease === 'no' || !this.#drained.has(message.endpoint)) return false;
    return lease === 'any' || !this.#isOpen(message);
  }

  #isOpen({ station, alarm, endpoint }: NewMessage): boolean {
    return alarm !== undefined && this.statements.openOfAlarm.get(station, alarm, endpoint) !== undefined;
  }
}

/** A UUID of version 7: those made later stand behind it, so that an index of them grows at its end alone. */
function uuidAt(milliseconds: number): string {
  const time = milliseconds.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
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

function storedMessage(row: Row): StoredMessage {
  return {
    sequence: Number(row['sequence']),
    deliveryId: String(row['delivery_id']),
    station: String(row['station']),
    id: String(row['id']),
    named: row['named'] === 1,
    fingerprint: String(row['fingerprint']),
    endpoint: String(row['endpoint']),
    state: String(row['state']) as MessageState,
    rank: row['rank'] === 1 ? 1 : 0,
    attempt: Number(row['attempt']),
    again: (row['again'] ?? undefined) as StoredMessage['again'],
    first: row['first'] === 1,
    ended: row['ended'] === 1,
    received: Number(row['received']),
  };
}
