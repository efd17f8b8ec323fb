import type { StoredMessage } from '../../store/protocol';
import { MAX_LISTED } from '../../store/stored-message';
import { isDamaged } from '../fault';
import type { Statements } from './statements';

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
      if (isDamaged(error)) {
        message.isIncomplete = true;
        return;
      }
      message.isUnread = true;
      this.onFault(error);
    }
  }
}
