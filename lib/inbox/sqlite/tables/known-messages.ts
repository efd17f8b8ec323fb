import type { DatabaseSync } from 'node:sqlite';
import type { Known, MessageKey } from '../../store/protocol';
import { alarmKey, messageKey } from '../key';
import { SequenceTable } from './sequence-table';
import type { Row, Statements } from './statements';

/** What was changed since the last commit, to be taken back where the next one fails. */
interface Change {
  table: SequenceTable;
  key: number;
  /** Not given where there was none, or is none any more. */
  before?: number | undefined;
  after?: number | undefined;
}

/**
 * Which messages and alarms are in the file: an index in memory, for the ids are random, and one in the file would write a page
 * of its own for each event, twice. What it finds is confirmed in the file, so that a key which two messages share does no
 * harm. An alarm is known by the last of its messages; where two share a key the later one takes the place, and the next event
 * of the other counts as its first. It takes 16 to 24 bytes for each message that is kept, and as much for each alarm.
 */
export class KnownMessages {
  readonly #messages = new SequenceTable();
  readonly #alarms = new SequenceTable();
  #changes: Change[] = [];

  constructor(private readonly statements: Statements) {}

  get size(): { messages: number; alarms: number } {
    return { messages: this.#messages.size, alarms: this.#alarms.size };
  }

  /** Reads the keys of all messages: for a million of them some tenths of a second, of which the disk gives 40 MB. */
  fill(database: DatabaseSync): void {
    this.#messages.reserve(Number(this.statements.count.get()?.['count'] ?? 0));
    // Called by SQLite for each row: a fifth of the time that rows as objects take.
    database.function('fill_known', (sequence, key, alarm) => {
      this.#messages.add(Number(key), Number(sequence));
      if (alarm !== null) this.#fillAlarm(Number(alarm), Number(sequence));
      return null;
    });
    database.exec(
      'SELECT count(fill_known(sequence, id_key, alarm_key)) FROM message INDEXED BY message_received',
    );
  }

  /** Whether a message is known, and what of its alarm is; reads alone. */
  look(likeness: MessageKey): Known {
    const copies = this.copiesOf(likeness);
    const same = copies.find((row) => row['fingerprint'] === likeness.fingerprint);
    const phase = this.phaseOf(likeness);
    if (same !== undefined) return { outcome: 'repeat', deliveryId: String(same['delivery_id']), ...phase };
    return { outcome: copies.length > 0 ? 'conflict' : 'new', ...phase };
  }

  /** All that have this id, each with other content. */
  copiesOf({ station, id, named }: Pick<MessageKey, 'station' | 'id' | 'named'>): Row[] {
    const sequences = this.#messages.of(messageKey(station, named, id));
    return sequences
      .map((sequence) => this.statements.copy.get(sequence, station, id, Number(named)))
      .filter((row) => row !== undefined);
  }

  /** Whether a message is the first of its alarm, and comes after its end. */
  phaseOf({ station, alarm }: Pick<MessageKey, 'station' | 'alarm'>): Pick<Known, 'first' | 'ended'> {
    if (alarm === undefined) return { first: true, ended: false };
    const before = this.#lastOfAlarm(station, alarm);
    return { first: before === undefined, ended: before?.['is_end'] === 1 || before?.['ended'] === 1 };
  }

  /** @param alarm the key of an alarm; of an event alone */
  add(sequence: number, key: number, alarm: number | null): void {
    this.#change({ table: this.#messages, key, after: sequence });
    if (alarm === null) return;
    const [before] = this.#alarms.of(alarm);
    this.#change({ table: this.#alarms, key: alarm, before, after: sequence });
  }

  /** It is kept no more. */
  remove(sequence: number, key: number, alarm: number | null): void {
    this.#change({ table: this.#messages, key, before: sequence });
    if (alarm === null || !this.#alarms.of(alarm).includes(sequence)) return;
    this.#change({ table: this.#alarms, key: alarm, before: sequence });
  }

  /** What was changed is in the file. */
  committed(): void {
    this.#changes = [];
  }

  /** Nothing of what was changed is in the file. */
  rolledBack(): void {
    const changes = this.#changes.reverse();
    this.#changes = [];
    for (const { table, key, before, after } of changes) apply({ table, key, before: after, after: before });
  }

  /** The last message of an alarm that is kept. */
  #lastOfAlarm(station: string, alarm: string): Row | undefined {
    const [sequence] = this.#alarms.of(alarmKey(station, alarm));
    return sequence === undefined ? undefined : this.statements.ofAlarm.get(sequence, station, alarm);
  }

  #change(change: Change): void {
    apply(change);
    this.#changes.push(change);
  }

  /** Rows come by the time of receipt, which is not always their order. */
  #fillAlarm(key: number, sequence: number): void {
    const [last] = this.#alarms.of(key);
    if (last === undefined) this.#alarms.add(key, sequence);
    else if (last < sequence) this.#alarms.replace(key, last, sequence);
  }
}

function apply({ table, key, before, after }: Change): void {
  if (before === undefined && after !== undefined) table.add(key, after);
  else if (before !== undefined && after === undefined) table.remove(key, before);
  else if (before !== undefined && after !== undefined) table.replace(key, before, after);
}
