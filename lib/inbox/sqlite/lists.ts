import type { SQLInputValue } from 'node:sqlite';
import type { ListQuery } from '../model';
import type { PageQuery, PlaceInTime, StoredMessage } from '../store/port';
import { isOfPlaces, MAX_LISTED, periodOf, placesAsked, type Shown } from '../store/stored-message';
import { listedMessage } from '../store/stored-row';
import { isDamaged } from './database';
import { oneEvent, type Row, type Statements } from './statements';
import type { HistoryTable } from './tables';

/** Messages whose bodies are looked at in one transaction: a moment, in which no event is stored. */
export const SLICE = 2000;

/** A list or a page by sites or cameras, which stand in the bodies: on its way, a slice in each transaction. */
export type Search = Shown & {
  found: Row[];
  /** The last that was looked at. */
  after?: PlaceInTime;
  /** Where that is no place to go on from: those that are to be looked at, in order. */
  left?: SQLInputValue[];
};

/** Undefined for what is found without a look at the bodies. */
export function searchOf(asked: { name: string; take: unknown }): Search | undefined {
  if (asked.name !== 'list' && asked.name !== 'page') return undefined;
  return isOfPlaces(asked as Shown) ? { ...(asked as Shown), found: [] } : undefined;
}

/** The messages of an inbox as they are shown. */
export class MessageLists {
  /** @param bodies adds the bodies to what is given, once the transaction is over */
  constructor(
    private readonly statements: Statements,
    private readonly history: HistoryTable,
    private readonly bodies: Bodies,
  ) {}

  list(take: ListQuery): StoredMessage[] {
    const { state, alarm, deliveryId, limit } = take;
    const asked = { name: 'list', take } as const;
    const search = searchOf(asked);
    if (search !== undefined) return this.#all(search);
    const rows =
      deliveryId !== undefined
        ? this.statements.find.all(...oneEvent(this.statements, deliveryId))
        : alarm !== undefined
          ? this.statements.listAlarm.all(...periodOf(asked), alarm.station, alarm.alarmId, limit)
          : this.statements[`list-${state}`].all(...periodOf(asked), limit);
    return this.#given(asked, rows);
  }

  page(take: PageQuery): StoredMessage[] {
    const asked = { name: 'page', take } as const;
    const search = searchOf(asked);
    if (search !== undefined) return this.#all(search);
    return this.#given(asked, this.statements[`page-${take.state}`].all(...periodOf(asked), take.limit));
  }

  /** Looks on for what is searched. @returns undefined where there is more to look at */
  slice(search: Search): StoredMessage[] | undefined {
    const { take, found } = search;
    const slice = this.#looked(search);
    for (const { fits, sequence = null } of slice)
      if (fits === 1 && found.length < take.limit) found.push(...this.statements.listed.all(sequence));
    return slice.length < SLICE || found.length >= take.limit ? this.#given(search, found) : undefined;
  }

  /** The next of them. */
  #looked(search: Search): Row[] {
    const { name, take } = search;
    const places = placesAsked(take);
    if (name === 'list' && take.state === 'open') {
      search.left ??= this.statements.allOpen
        .all(...periodOf(search), -1)
        .map(({ sequence = null }) => sequence);
      return this.statements['list-open-places'].all(places, JSON.stringify(search.left.splice(0, SLICE)));
    }
    const period = periodOf(search, search.after);
    const slice = this.statements[`${name}-${take.state}-places`].all(places, ...period, SLICE);
    const last = slice.at(-1);
    if (last) search.after = { received: Number(last['received']), sequence: Number(last['sequence']) };
    return slice;
  }

  #all(search: Search): StoredMessage[] {
    for (;;) {
      const given = this.slice(search);
      if (given !== undefined) return given;
    }
  }

  #given({ name, take }: Shown, rows: readonly Row[]): StoredMessage[] {
    const messages = rows.map(listedMessage);
    if (name === 'list' ? take.history === true : take.steps)
      for (const message of messages) message.steps = this.history.of(message.sequence);
    if (name === 'list' || take.bodies) this.bodies.list(messages);
    return messages;
  }
}

/** The bodies of the messages that a transaction gives, read once it is over. */
export class Bodies {
  /** Given by the transaction under way, still without their bodies. */
  #wanted: StoredMessage[] = [];
  #listed: StoredMessage[] = [];

  /** @param onFault told why one could not be read now, and may be another time */
  constructor(
    private readonly statements: Statements,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /** These are to be given with their bodies. */
  want(...messages: readonly StoredMessage[]): void {
    this.#wanted.push(...messages);
  }

  /** And these as far as there is room. */
  list(messages: readonly StoredMessage[]): void {
    this.#listed.push(...messages);
  }

  /**
   * Adds them once the transaction is over: after a look at a damaged page it could not be committed. It throws nothing, for
   * what was committed has happened: one that cannot be read stays away, so that the others need not wait for it.
   */
  read(): void {
    for (const message of this.#wanted.splice(0)) this.#read(message);
    let bytes = 0;
    for (const message of this.#listed.splice(0)) {
      if (bytes > MAX_LISTED) return;
      this.#read(message);
      bytes += message.bytes?.byteLength ?? 0;
    }
  }

  /** After a transaction that failed. */
  forget(): void {
    this.#wanted = [];
    this.#listed = [];
  }

  #read(message: StoredMessage): void {
    try {
      const { facts, bytes } = this.statements.body.get(message.sequence) ?? {};
      if (typeof facts === 'string') message.facts = facts;
      if (bytes instanceof Uint8Array) message.bytes = bytes;
      if (message.facts === undefined || message.bytes === undefined) message.isIncomplete = true;
    } catch (error) {
      // A page that is damaged stays so; a disk that fails to read may be able to the next time.
      if (isDamaged(error)) message.isIncomplete = true;
      else {
        message.isUnread = true;
        this.onFault(error);
      }
    }
  }
}
