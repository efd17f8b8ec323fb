import type { Dispatcher } from 'undici';

/** Stands where a request has ended before it had a connection. */
const NO_CONTROLLER: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

/**
 * As many requests to one origin at a time as there are connections; the others wait in line. An abort ends a request at
 * once. The HTTP client itself would end it only when it has a connection, and would still make one for each request that
 * was given up long ago: where connections hang, time-outs would add up, round after round.
 */
export function boundedRequests(places: number): Dispatcher.DispatcherComposeInterceptor {
  const lines = new Map<string, Line>();
  return (dispatch) => (options, handler) => {
    const origin = String(options.origin);
    const line = lines.get(origin) ?? new Line(places);
    lines.set(origin, line);
    new BoundedRequest(handler, line).start(signalOf(options), (bounded) => dispatch(options, bounded));
    return true;
  };
}

/** Places, and who waits for one. */
class Line {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(places: number) {
    this.#free = places;
  }

  /** Starts the work now, or when a place comes free. */
  enter(work: () => void): void {
    if (this.#free === 0) {
      this.#waiting.add(work);
      return;
    }
    this.#free -= 1;
    work();
  }

  /** For work that has not started. */
  withdraw(work: () => void): void {
    this.#waiting.delete(work);
  }

  /** For work that has started. */
  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    // Not at once: where each fails in its turn, the next would start within it.
    queueMicrotask(next);
  }
}

class BoundedRequest implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #line: Line;
  #signal: AbortSignal | undefined;
  #work: () => void = () => undefined;
  #connected = false;
  /** Nobody waits for it any more. */
  #abandoned = false;

  constructor(handler: Dispatcher.DispatchHandler, line: Line) {
    this.#handler = handler;
    this.#line = line;
  }

  start(signal: AbortSignal | undefined, give: (handler: Dispatcher.DispatchHandler) => void): void {
    this.#signal = signal;
    this.#work = () => give(this);
    if (signal?.aborted === true) {
      this.#abandon();
      return;
    }
    signal?.addEventListener('abort', this.#abandon);
    this.#line.enter(this.#work);
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#connected = true;
    if (this.#abandoned) controller.abort(reasonOf(this.#signal));
    else this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStart(...answer: Parameters<Required<Dispatcher.DispatchHandler>['onResponseStart']>): void {
    this.#handler.onResponseStart?.(...answer);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(...end: Parameters<Required<Dispatcher.DispatchHandler>['onResponseEnd']>): void {
    this.#left();
    this.#handler.onResponseEnd?.(...end);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#left();
    if (!this.#abandoned) this.#handler.onResponseError?.(controller, error);
  }

  #left(): void {
    this.#signal?.removeEventListener('abort', this.#abandon);
    this.#line.leave();
  }

  /** From the start of a request on, the HTTP client itself ends it. */
  readonly #abandon = (): void => {
    if (this.#connected) return;
    this.#abandoned = true;
    this.#line.withdraw(this.#work);
    this.#handler.onResponseError?.(NO_CONTROLLER, reasonOf(this.#signal));
  };
}

/** The options of a dispatch carry it, although their type does not say so. */
function signalOf(options: Dispatcher.DispatchOptions): AbortSignal | undefined {
  const signal: unknown = 'signal' in options ? options.signal : undefined;
  return signal instanceof AbortSignal ? signal : undefined;
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('aborted');
}
