import { randomUUID } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { ListQuery, MessageState } from '../inbox';
import { isDamaged } from './fault';
import type { Accepted, Finish, GivenBack, NewMessage, StoredMessage, StoreCalls } from '../store/protocol';

type Row = Record<string, SQLOutputValue>;

const COLUMNS = `sequence, delivery_id, station, id, named, fingerprint, endpoint, state, rank, attempt, again, first,
  ended, received`;
/** Bodies that a list reads, in bytes: beyond it, it has rows without them. */
const MAX_LISTED = 32 * 1024 * 1024;
/** The partial indexes are used only where a query has their condition in these words. */
const OPEN = `state IN ('received', 'leased')`;
const LEASED = `${OPEN} AND state = 'leased'`;
const DEAD = `state IN ('dead', 'conflict', 'stale')`;
const LISTED: Record<ListQuery['state'], string> = {
  open: OPEN,
  settled: `state = 'delivered'`,
  dead: `${DEAD} AND again IS NOT 'dismissed'`,
  all: 'TRUE',
};
const NONE_OPEN_BEFORE = `(alarm IS NULL OR NOT EXISTS (
  SELECT 1 FROM message AS former WHERE former.station = message.station AND former.alarm = message.alarm
  AND former.endpoint = message.endpoint AND former.${OPEN} AND former.sequence < message.sequence))`;

/** The messages of an inbox and their states. No transactions of its own. */
export class Messages {
  readonly #known: StatementSync;
  readonly #insert: StatementSync;
  readonly #insertBody: StatementSync;
  readonly #alarm: StatementSync;
  readonly #openOfAlarm: StatementSync;
  readonly #next: StatementSync;
  readonly #nextOrdered: StatementSync;
  readonly #lease: StatementSync;
  readonly #unsend: StatementSync;
  readonly #cutOff: StatementSync;
  readonly #attempts: StatementSync;
  readonly #lapse: StatementSync;
  readonly #again: StatementSync;
  readonly #end: StatementSync;
  readonly #leased: StatementSync;
  readonly #revive: StatementSync;
  readonly #bury: StatementSync;
  readonly #dismiss: StatementSync;
  readonly #find: StatementSync;
  readonly #body: StatementSync;
  /** Endpoints of which the last lease left none that could be delivered: what comes next need not wait behind others. */
  readonly #drained = new Set<string>();
  /** Given by the transaction under way, still without their bodies. */
  #unread: StoredMessage[] = [];
  #listed: StoredMessage[] = [];
  readonly #lists: Record<ListQuery['state'], StatementSync>;

  /** @param clock the clock of the file, in milliseconds */
  constructor(
    private readonly database: DatabaseSync,
    private readonly clock: () => number,
  ) {
    const prepare = (sql: string): StatementSync => database.prepare(sql);
    this.#known = prepare(
      'SELECT delivery_id, sequence, fingerprint, copy FROM message WHERE station = ? AND id = ? AND named = ? ORDER BY copy',
    );
    this.#insert = prepare(
      `INSERT INTO message (delivery_id, station, id, named, copy, fingerprint, endpoint, state, rank, attempt, at_flow, first,
       ended, alarm, is_end, received, stored) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertBody = prepare('INSERT INTO body (sequence, facts, bytes) VALUES (?, ?, ?)');
    this.#alarm = prepare(
      'SELECT is_end FROM message WHERE station = ? AND alarm = ? ORDER BY is_end DESC LIMIT 1',
    );
    this.#openOfAlarm = prepare(
      `SELECT 1 FROM message WHERE station = ? AND alarm = ? AND endpoint = ? AND ${OPEN} LIMIT 1`,
    );
    const next = `SELECT ${COLUMNS} FROM message WHERE endpoint = ? AND state = 'received'`;
    this.#next = prepare(`${next} ORDER BY rank, sequence LIMIT ?`);
    this.#nextOrdered = prepare(`${next} AND ${NONE_OPEN_BEFORE} ORDER BY rank, sequence LIMIT ?`);
    this.#lease = prepare(
      `UPDATE message SET state = 'leased', at_flow = 1, attempt = attempt + 1 WHERE sequence = ?`,
    );
    this.#unsend = prepare(
      `UPDATE message SET state = 'received', at_flow = 0, attempt = attempt - 1
       WHERE delivery_id = ? AND state = 'leased' AND at_flow = 1`,
    );
    this.#cutOff = prepare(
      `UPDATE message SET state = 'received', cut_off = cut_off + at_flow,
       again = CASE at_flow WHEN 1 THEN 'restart' ELSE again END, at_flow = 0 WHERE delivery_id = ? AND state = 'leased'`,
    );
    this.#attempts = prepare(
      `SELECT attempt - cut_off AS counted FROM message WHERE delivery_id = ? AND state = 'leased'`,
    );
    this.#lapse = prepare('UPDATE message SET state = ?, at_flow = 0, again = ? WHERE delivery_id = ?');
    this.#again = prepare(
      `UPDATE message SET at_flow = 1, attempt = attempt + 1 WHERE delivery_id = ? AND state = 'leased' RETURNING attempt`,
    );
    this.#end = prepare(`UPDATE message SET state = ?, at_flow = 0 WHERE delivery_id = ? AND ${OPEN}`);
    this.#leased = prepare(`SELECT delivery_id FROM message WHERE endpoint = ? AND ${LEASED}`);
    const exhausted = `delivery_id = ? AND state = 'dead' AND again = 'attempts'`;
    this.#revive = prepare(
      `UPDATE message SET state = 'received', cut_off = attempt, again = 'retry' WHERE ${exhausted} RETURNING endpoint`,
    );
    this.#bury = prepare(`UPDATE message SET state = ?, again = NULL WHERE ${exhausted}`);
    this.#dismiss = prepare(`UPDATE message SET again = 'dismissed' WHERE delivery_id = ? AND ${DEAD}`);
    this.#find = prepare(`SELECT ${COLUMNS} FROM message WHERE delivery_id = ?`);
    const list = (condition: string, index = ''): StatementSync =>
      prepare(
        `SELECT ${COLUMNS} FROM message ${index} WHERE ${condition} AND received >= ?
         ORDER BY received DESC, sequence DESC LIMIT ?`,
      );
    this.#body = prepare('SELECT facts, bytes FROM body WHERE sequence = ?');
    this.#lists = {
      // By the time of receipt it would have to walk past all those that are not open any more.
      open: list(LISTED.open, 'INDEXED BY message_open'),
      settled: list(LISTED.settled),
      dead: list(LISTED.dead),
      all: list(LISTED.all),
    };
  }

  accept({ message, lease }: StoreCalls['accept']['take']): Accepted {
    const known = this.#known.all(message.station, message.id, Number(message.named));
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
    const next = (ordered ? this.#nextOrdered : this.#next).all(endpoint, limit);
    const rows = next.filter((row) => row['rank'] === 0 || left-- > 0);
    for (const row of rows) this.#lease.run(row['sequence'] ?? null);
    if (rows.length < limit && rows.length === next.length) this.#drained.add(endpoint);
    const messages = rows.map(storedMessage);
    for (const message of messages) message.attempt += 1;
    this.#unread.push(...messages);
    return messages;
  }

  giveBack({ unsent, cutOff }: GivenBack): number {
    this.#drained.clear();
    const runs = [...unsent.map((id) => this.#unsend.run(id)), ...cutOff.map((id) => this.#cutOff.run(id))];
    return runs.reduce((sum, { changes }) => sum + Number(changes), 0);
  }

  lapse({ deliveryId, again, maxAttempts }: StoreCalls['lapse']['take']): StoreCalls['lapse']['give'] {
    const row = this.#attempts.get(deliveryId);
    if (row === undefined) return undefined;
    const counted = Number(row['counted']);
    const dead = counted >= maxAttempts;
    this.#lapse.run(dead ? 'dead' : 'leased', dead ? 'attempts' : again, deliveryId);
    return { dead, counted };
  }

  again(deliveryId: string): number | undefined {
    const row = this.#again.get(deliveryId);
    return row === undefined ? undefined : Number(row['attempt']);
  }

  markDelivered(deliveryIds: readonly string[]): void {
    for (const id of deliveryIds) this.#end.run('delivered', id);
  }

  finish({ deliveryId, state, give }: Finish): StoreCalls['finish']['give'] {
    const row = this.#find.get(deliveryId);
    if (row === undefined) return undefined;
    const message = storedMessage(row);
    this.#end.run(state, deliveryId);
    this.#bury.run(state, deliveryId);
    if (give) this.#unread.push(message);
    return { was: message.state, endpoint: message.endpoint, ...(give && { message }) };
  }

  revive(deliveryId: string): string | undefined {
    this.#drained.clear();
    const row = this.#revive.get(deliveryId);
    return row && String(row['endpoint']);
  }

  dismiss(deliveryId: string): boolean {
    return this.#dismiss.run(deliveryId).changes > 0;
  }

  stateOf(deliveryId: string): MessageState | undefined {
    const row = this.#find.get(deliveryId);
    return row && storedMessage(row).state;
  }

  list({ state, since = 0, limit }: ListQuery): StoredMessage[] {
    const messages = this.#lists[state].all(since, limit).map(storedMessage);
    this.#listed.push(...messages);
    return messages;
  }

  /**
   * Adds the bodies to what a transaction has given, once it is over: after a look at a damaged page it could not be
   * committed. Those that cannot be read stay away, so that the others need not wait for them.
   */
  readBodies(): void {
    for (const message of this.#unread.splice(0)) this.#readBody(message);
    let bytes = 0;
    for (const message of this.#listed.splice(0)) {
      if (bytes > MAX_LISTED) return;
      this.#readBody(message);
      bytes += message.bytes?.byteLength ?? 0;
    }
  }

  /** After a transaction that failed: nothing of it has happened. */
  forgetWork(): void {
    this.#drained.clear();
    this.#unread = [];
    this.#listed = [];
  }

  leased(endpoint: string): string[] {
    return this.#leased.all(endpoint).map((row) => String(row['delivery_id']));
  }

  /** What an earlier process had leased waits again: its leases ended with it. */
  forgetLeases(): void {
    this.database.exec(
      `UPDATE message SET state = 'received', cut_off = cut_off + at_flow,
       again = CASE at_flow WHEN 1 THEN 'restart' ELSE again END, at_flow = 0 WHERE ${LEASED}`,
    );
  }

  /** By endpoint: events that wait. */
  waiting(): Record<string, number> {
    const rows = this.database
      .prepare(`SELECT endpoint, count(*) AS count FROM message WHERE state = 'received' GROUP BY endpoint`)
      .all();
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
    const { lastInsertRowid } = this.#insert.run(
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
    this.#insertBody.run(lastInsertRowid, message.facts, message.bytes);
    const outcome = state === 'conflict' ? 'conflict' : 'new';
    return { outcome, deliveryId, sequence: Number(lastInsertRowid), first, ended, leased: isLeased };
  }

  #readBody(message: StoredMessage): void {
    try {
      const { facts, bytes } = this.#body.get(message.sequence) ?? {};
      if (typeof facts === 'string') message.facts = facts;
      if (bytes instanceof Uint8Array) message.bytes = bytes;
    } catch (error) {
      if (!isDamaged(error)) throw error;
    }
  }

  #phaseOf({ station, alarm }: NewMessage): { first: boolean; ended: boolean } {
    if (alarm === undefined) return { first: true, ended: false };
    const before = this.#alarm.get(station, alarm);
    return { first: before === undefined, ended: before?.['is_end'] === 1 };
  }

  #mayLease(message: NewMessage, lease: 'no' | 'any' | 'ordered'): boolean {
    if (lease === 'no' || !this.#drained.has(message.endpoint)) return false;
    return lease === 'any' || !this.#isOpen(message);
  }

  #isOpen({ station, alarm, endpoint }: NewMessage): boolean {
    return alarm !== undefined && this.#openOfAlarm.get(station, alarm, endpoint) !== undefined;
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
    attempt: Number(row['attempt']),
    again: (row['again'] ?? undefined) as StoredMessage['again'],
    first: row['first'] === 1,
    ended: row['ended'] === 1,
    received: Number(row['received']),
  };
}
