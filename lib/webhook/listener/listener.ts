import type { SecureContextOptions } from 'node:tls';
import { RvmError } from '../../error';
import { Watchers } from '../../concurrency/signals';
import { Senders } from '../bounds/senders';
import { Dispatcher, type ConfiguredPaths, type DispatcherOptions } from '../receive/dispatcher';
import { Pages } from '../receive/pages';
import { assertUsable, listenFault, type ListenerPlace } from './listener-fault';
import { DEFAULT_LIMITS, ListenerServer, type ListenerLimits } from './listener-server';
import { loopbackOrigin } from './loopback-origin';

/** What may change while a listener listens. */
export interface ListenerSettings {
  /** With it the listener speaks HTTPS. */
  tls?: SecureContextOptions | undefined;
  /** Addresses of the reverse proxies in front. */
  proxies: readonly string[];
}

export interface ListenerOptions {
  limits?: Partial<ListenerLimits>;
  dispatcher?: Omit<DispatcherOptions, 'senders' | 'configured'>;
  /** As of a dispatcher, for one listener. */
  configured?: (place: ListenerPlace) => ConfiguredPaths;
  /** Until a port that could not be opened is tried again, in milliseconds. Default 5,000. */
  retryMs?: number;
  /** Told what an operator should know; nothing secret. */
  log?: (line: string) => void;
}

/**
 * A place where webhooks are received by a server of our own. Its dispatcher stays while the server comes, goes and takes
 * over new settings, so that a path is known as soon as a port is open.
 */
export class Listener {
  readonly dispatcher: Dispatcher;
  readonly pages = new Pages();
  readonly #senders = new Senders();
  readonly #watchers = new Watchers();
  readonly #log: (line: string) => void;
  readonly #steady: () => number;
  #server: ListenerServer | undefined;
  #fault: RvmError | undefined;
  #work: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;

  constructor(
    private readonly place: ListenerPlace,
    private readonly options: ListenerOptions = {},
  ) {
    this.#log = options.log ?? (() => undefined);
    this.#steady = options.dispatcher?.steady ?? (() => performance.now());
    const { configured } = options;
    this.dispatcher = new Dispatcher({
      log: this.#log,
      ...options.dispatcher,
      ...(configured && { configured: () => configured(place) }),
      senders: this.#senders,
    });
  }

  /** A path of webhooks waits on it, or somebody has pages for it. */
  get isWanted(): boolean {
    return this.dispatcher.paths().length > 0 || this.pages.areWanted;
  }

  /** Why it does not listen, or not with the last settings. */
  get fault(): RvmError | undefined {
    return this.#fault;
  }

  /** Its origin as seen from this machine; undefined while it does not listen. */
  get origin(): string | undefined {
    const server = this.#server;
    return server && loopbackOrigin(server.isSecure ? 'https' : 'http', server.address());
  }

  /** Calls back when it begins or ceases to listen, or meets a fault; returns the way to end that. */
  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  /**
   * Listens with these settings; open connections stay, but where the scheme changes. Resolves once it does, or has met a
   * fault. Settings that will not do leave a listener with those it had: it goes on to receive alarms. A port that cannot
   * be opened is tried again.
   */
  listen(settings: ListenerSettings): Promise<void> {
    return this.#inTurn(() => this.#apply(settings));
  }

  /** Frees the port. Requests under way are still dealt with. */
  close(): Promise<void> {
    return this.#inTurn(async () => this.#shut());
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    clearTimeout(this.#retry);
    // Whatever goes wrong in a step, or in who watches, the next one is taken.
    this.#work = this.#work
      .then(step)
      .then(() => this.#watchers.tell())
      .catch((error: unknown) => this.#log(`Listener on port ${this.place.port}: ${String(error)}`));
    return this.#work;
  }

  async #apply(settings: ListenerSettings): Promise<void> {
    clearTimeout(this.#retry);
    try {
      this.#fault = undefined;
      const { tls, proxies } = settings;
      if (tls !== undefined) assertUsable(tls);
      this.#senders.setProxies(proxies);
      if (this.#server?.isSecure !== (tls !== undefined)) await this.#open(settings);
      else if (tls !== undefined) this.#server.setTls(tls);
    } catch (error) {
      this.#fault = asFault(error);
    }
  }

  async #open(settings: ListenerSettings): Promise<void> {
    this.#shut();
    const server = new ListenerServer({
      dispatcher: this.dispatcher,
      pages: this.pages,
      senders: this.#senders,
      limits: { ...DEFAULT_LIMITS, ...this.options.limits },
      tls: settings.tls,
      log: (line) => this.#log(`Listener on port ${this.place.port}: ${line}`),
      steady: this.#steady,
    });
    try {
      await server.listen(this.place.port, this.place.host);
      this.#server = server;
    } catch (error) {
      this.#retry = setTimeout(() => void this.listen(settings), this.options.retryMs ?? 5000);
      this.#retry.unref();
      throw listenFault(error, this.place);
    }
  }

  #shut(): void {
    clearTimeout(this.#retry);
    this.#server?.close();
    this.#server = undefined;
    this.#fault = undefined;
  }
}

function asFault(error: unknown): RvmError {
  if (error instanceof RvmError) return error;
  const kind = error instanceof Error ? error.name : typeof error;
  return new RvmError('BAD_INPUT', `The listener cannot use its settings (${kind}): please report it.`);
}
