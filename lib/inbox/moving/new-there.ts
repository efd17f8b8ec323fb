import type { MovedMessage } from './moved-message';

/** A message where they are moved to, which has an id in common with one of a batch. */
export type MessageThere = Pick<
  MovedMessage,
  'deliveryId' | 'station' | 'id' | 'named' | 'copy' | 'fingerprint'
>;

/**
 * The messages of a batch that are new there, each with the copy that is free. One that is there with the same content, under
 * another delivery id, was sent there once more: it stays the only one. One with other content under the same id is kept as a
 * further copy, in the state in which it is.
 * @param there all that have an id in common with one of the batch
 * @param isOfFile whether a delivery id is one of the file
 */
export function newThere(
  batch: readonly MovedMessage[],
  there: readonly MessageThere[],
  isOfFile: (deliveryId: string) => boolean,
): MovedMessage[] {
  const brought = new Set(there.map(({ deliveryId }) => deliveryId));
  const sentAgain = new Set(there.filter(({ deliveryId }) => !isOfFile(deliveryId)).map(contentOf));
  const copies = new Copies(there);
  return batch
    .filter((message) => !brought.has(message.deliveryId) && !sentAgain.has(contentOf(message)))
    .map((message) => ({ ...message, copy: copies.take(message) }));
}

/** Counts the messages of each id. */
class Copies {
  readonly #next = new Map<string, number>();

  constructor(there: readonly MessageThere[]) {
    for (const message of there) this.#note(keyOf(message), message.copy);
  }

  /** The same as in the file, where that is free. */
  take(message: MovedMessage): number {
    const key = keyOf(message);
    const copy = Math.max(message.copy, this.#next.get(key) ?? 0);
    this.#note(key, copy);
    return copy;
  }

  #note(key: string, copy: number): void {
    this.#next.set(key, Math.max(copy + 1, this.#next.get(key) ?? 0));
  }
}

function contentOf(message: MessageThere): string {
  return `${keyOf(message)}${message.fingerprint}`;
}

function keyOf({ station, named, id }: Pick<MovedMessage, 'station' | 'named' | 'id'>): string {
  return JSON.stringify([station, named, id]);
}
