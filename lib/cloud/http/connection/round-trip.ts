import type { Dispatcher } from 'undici';
import { GrowingBuffer } from '../../../bytes';
import type { Abort } from '../../../concurrency/signals';

/** Names in lower case. */
export type AnswerHeaders = Record<string, string | string[] | undefined>;

/** The whole answer to one request. */
export interface RawAnswer {
  status: number;
  headers: AnswerHeaders;
  body: Buffer;
}

/** Who hears of a request before its answer is complete. */
export interface RoundTripListeners {
  /** A connection has taken the request. */
  onSent: () => void;
  /** The head of the answer is there. */
  onHead: (headers: AnswerHeaders) => void;
  /** Asked once for an answer, and what it gives for each piece of that: the bytes that are enough, where they are there. */
  enough?: ((headers: AnswerHeaders) => ((body: Buffer) => number | undefined) | undefined) | undefined;
  /** The request no longer holds a connection. */
  onEnd: () => void;
}

/**
 * Sends one request and gathers its whole answer, or as much as is enough, without the stream that the HTTP client's own `request` makes of each body.
 * An abort ends the wait at once; a request that has no connection yet ends when it would get one.
 * @throws what the HTTP client reports, or the reason of the abort
 */
export function roundTrip(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  abort: Abort,
  listeners: RoundTripListeners,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const receiver = new Receiver(listeners, resolve, reject);
    abort.onAbort((reason) => receiver.abort(reason));
    dispatcher.dispatch(request, receiver);
  });
}

class Receiver implements Dispatcher.DispatchHandler {
  readonly #body = new GrowingBuffer(0);
  #status = 0;
  #enough: ReturnType<NonNullable<RoundTripListeners['enough']>>;
  #headers: AnswerHeaders = {};
  #controller: Dispatcher.DispatchController | undefined;
  #aborted: Error | undefined;
  #ended = false;

  constructor(
    private readonly listeners: RoundTripListeners,
    private readonly resolve: (received: RawAnswer) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  abort(error: Error): void {
    this.#aborted = error;
    this.reject(error);
    this.#controller?.abort(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted === undefined) this.listeners.onSent();
    else controller.abort(this.#aborted);
  }

  onResponseStart(_controller: unknown, status: number, headers: AnswerHeaders): void {
    if (status < 200) return; // More is to come.
    this.#status = status;
    this.#headers = headers;
    this.listeners.onHead(headers);
    this.#enough = this.listeners.enough?.(headers);
  }

  onResponseData(_controller: unknown, piece: Buffer): void {
    this.#body.append(piece);
    const bytes = this.#enough?.(this.#body.content());
    if (bytes === undefined) return;
    this.#resolve(bytes);
    this.#controller?.abort(new Error('What has come is enough.'));
  }

  onResponseEnd(): void {
    this.#end();
    this.#resolve(this.#body.length);
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#end();
    this.reject(error);
  }

  #resolve(bytes: number): void {
    const body = this.#body.content().subarray(0, bytes);
    this.resolve({ status: this.#status, headers: this.#headers, body });
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.listeners.onEnd();
  }
}
