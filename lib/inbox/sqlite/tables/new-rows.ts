import type { MessageState } from '../../inbox';
import type { Accepted, NewMessage } from '../../store/protocol';
import { makeDeliveryId } from './delivery-id';
import { alarmKey, messageKey } from '../key';
import type { KnownMessages } from './known-messages';
import type { Statements } from './statements';

/** Rows of new messages, each under a sequence of its own. */
export class NewRows {
  #newest: number;

  /**
   * @param clock the clock of the file, in milliseconds
   * @param newest the last sequence that was given away
   */
  constructor(
    private readonly statements: Statements,
    private readonly known: KnownMessages,
    private readonly clock: () => number,
    newest: number,
  ) {
    this.#newest = newest;
  }

  /** The last sequence that was given away: also where its message is kept no more, none is given twice. */
  get newest(): number {
    return this.#newest;
  }

  add(
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
    const now = Date.now();
    const deliveryId = makeDeliveryId(sequence, now);
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
      isLeased ? now : null,
    );
    this.statements.insertBody.run(sequence, message.facts, message.bytes);
    this.known.add(sequence, ...keys);
    const outcome = state === 'conflict' ? 'conflict' : 'new';
    return { outcome, deliveryId, sequence, first, ended, leased: isLeased };
  }
}
