import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { UNCERTAIN } from '../meta';
import { makeDeliveryId } from '../tables/delivery-id';
import type { Row } from '../tables/statements';

/**
 * The messages of another file of the inbox, on their way into one that has messages already: by id. What is known there stays
 * as it is; the others keep sequence and delivery id, unless another message has that sequence by now.
 */
export class Newcomers {
  /** By key of the id. */
  readonly #known = new Set<number>();
  /** By the sequence in the other file: that in this one. */
  readonly #sequences = new Map<number, number>();
  /** Numbers of the entries of the history that have come. */
  readonly #entries = new Set<number>();
  readonly #taken: StatementSync;
  #newest: number;

  constructor(
    private readonly target: DatabaseSync,
    newest: number,
  ) {
    this.#newest = newest;
    this.#taken = target.prepare('SELECT 1 FROM message WHERE sequence = ?');
    for (const { id_key: key } of target.prepare('SELECT id_key FROM message').iterate())
      this.#known.add(Number(key));
  }

  /** The row as it enters; undefined where its message is known. @param row with its key */
  message(row: Row): Row | undefined {
    const from = Number(row['sequence']);
    const key = Number(row['id_key']);
    if (this.#known.has(key)) return undefined;
    this.#known.add(key);
    const isTaken = this.#taken.get(from) !== undefined;
    if (isTaken) this.#newest += 1;
    const sequence = isTaken ? this.#newest : from;
    this.#sequences.set(from, sequence);
    this.#newest = Math.max(this.#newest, sequence);
    if (!isTaken) return row;
    return { ...row, sequence, delivery_id: makeDeliveryId(sequence, Number(row['received'])) };
  }

  /** What belongs to a message that has entered, under its sequence; undefined of any other. */
  partOf(row: Row): Row | undefined {
    const sequence = this.#sequences.get(Number(row['sequence']));
    return sequence === undefined ? undefined : { ...row, sequence };
  }

  /** An entry of the history of such a message, once. */
  entryOf(row: Row): Row | undefined {
    const number = Number(row['number']);
    if (this.#entries.has(number)) return undefined;
    this.#entries.add(number);
    const entry = this.partOf(row);
    return entry && { ...entry, number: null };
  }

  /** Nobody knows what became of them since. */
  finish(): void {
    if (this.#sequences.size === 0) return;
    this.target.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(UNCERTAIN, String(this.#newest));
  }

  /** So many of the messages that have entered. @param sql what is counted of them */
  count(sql: string): number {
    const one = this.target.prepare(`SELECT count(*) AS n FROM ${sql} AND sequence = ?`);
    let sum = 0;
    for (const sequence of this.#sequences.values()) sum += Number(one.get(sequence)?.['n']);
    return sum;
  }
}
