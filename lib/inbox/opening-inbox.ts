import type { Acceptance, DeadLetter, Delivery, Inbox, ProvenMessage } from './inbox';

/** Between two attempts to open an inbox that could not be opened, in milliseconds. */
const RETRY = 5000;

export interface OpeningInboxOptions {
  open: () => Promise<Inbox>;
  /** Told why it could not be opened, once until it is. */
  onFailure: (error: unknown) => void;
}

/**
 * An inbox that may not be open yet, or not at the first try. Until it is, messages wait: the receiver cuts those that
 * wait too long, and they come again.
 */
export class OpeningInbox implements Inbox {
  readonly #consumers = new Map<string, Consumer>();
  #opening: Promise<Inbox> | undefined;
  #inbox: Inbox | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isTold = false;
  #closed = false;

  constructor(private readonly options: OpeningInboxOptions) {
    this.#tryAgain();
  }

  async accept(message: ProvenMessage): Promise<Acceptance> {
    return (await this.#opened()).accept(message);
  }

  async acceptDeadLetter(letter: DeadLetter): Promise<Acceptance> {
    return (await this.#opened()).acceptDeadLetter(letter);
  }

  consume(endpointId: string, deliver: (delivery: Delivery) => void): () => void {
    const consumer: Consumer = { deliver, stop: this.#inbox?.consume(endpointId, deliver) };
    this.#consumers.set(endpointId, consumer);
    return () => {
      consumer.stop?.();
      if (this.#consumers.get(endpointId) === consumer) this.#consumers.delete(endpointId);
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#opening?.catch(() => undefined);
    await this.#inbox?.close();
  }

  #opened(): Promise<Inbox> {
    if (this.#inbox !== undefined) return Promise.resolve(this.#inbox);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<Inbox> {
    try {
      const inbox = await this.options.open();
      this.#inbox = inbox;
      this.#isTold = false;
      for (const [endpointId, consumer] of this.#consumers)
        consumer.stop = inbox.consume(endpointId, consumer.deliver);
      return inbox;
    } catch (error) {
      if (!this.#isTold) this.options.onFailure(error);
      this.#isTold = true;
      this.#retryLater();
      throw error;
    }
  }

  #retryLater(): void {
    if (this.#closed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#tryAgain(), RETRY);
    this.#retry.unref();
  }

  #tryAgain(): void {
    this.#opened().catch(() => undefined);
  }
}

interface Consumer {
  deliver: (delivery: Delivery) => void;
  /** Set once the inbox is open. */
  stop: (() => void) | undefined;
}
