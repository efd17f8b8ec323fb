import type { AddressInfo } from 'node:net';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { ChangeListeners } from '../concurrency/signals';
import { RvmError } from '../error';
import { type ConfiguredPaths, Dispatcher, type DispatcherOptions, PageRoutes } from './dispatcher';
import { DEFAULT_LIMITS, type ListenerLimits, ListenerServer } from './listener-server';
import { Senders } from './request';

/** Settings that may change while a listener is open. */
export interface ListenerSettings {
  /** With it the listener speaks HTTPS. */
  tls?: SecureContextOptions | undefined;
  /** Addresses of the reverse proxies in front. */
  proxies: readonly string[];
}

export interface ListenerOptions {
  limits?: Partial<ListenerLimits>;
  dispatcher?: Omit<DispatcherOptions, 'senders' | 'configured'>;
  /** As `configured` of a dispatcher, for one listener. */
  configured?: (address: ListenerAddress) => ConfiguredPaths;
  /** Milliseconds until a port that could not be opened is tried again. Default 5,000. */
  retryMs?: number;
  /** Called with log lines for the operator; they contain no secret. */
  log?: (line: string) => void;
}

/**
 * Receives webhooks on a server of our own. Its dispatcher stays while the server is closed, reopened or reconfigured, so that
 * paths are known as soon as the port is open.
 */
export class Listener {
  readonly dispatcher: Dispatcher;
  readonly pages = new PageRoutes();
  readonly #senders = new Senders();
  readonly #watchers = new ChangeListeners();
  readonly #log: (line: string) => void;
  readonly #monotonic: () => number;
  #server: ListenerServer | undefined;
  #fault: RvmError | undefined;
  #work: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;

  constructor(
    private readonly address: ListenerAddress,
    private readonly options: ListenerOptions = {},
  ) {
    this.#log = options.log ?? (() => undefined);
    this.#monotonic = options.dispatcher?.monotonic ?? (() => performance.now());
    const { configured } = options;
    this.dispatcher = new Dispatcher({
      log: this.#log,
      ...options.dispatcher,
      ...(configured && { configured: () => configured(address) }),
      senders: this.#senders,
    });
  }

  /** True where there are webhook paths, or a caller needs pages. */
  get isWanted(): boolean {
    return this.dispatcher.paths().length > 0 || this.pages.areWanted;
  }

  /** Why the listener is closed, or does not use the last settings. */
  get fault(): RvmError | undefined {
    return this.#fault;
  }

  /** Origin of the listener as seen from this machine; undefined while it is closed. */
  get origin(): string | undefined {
    const server = this.#server;
    return server && loopbackOrigin(server.isSecure ? 'https' : 'http', server.address());
  }

  /** Calls back when the port is opened or closed, or a fault occurs. Returns a function that ends the subscription. */
  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  /**
   * Applies settings, and opens the port if necessary; open connections stay unless the scheme changes. Settings that are
   * unusable leave the former ones in force, so that the listener goes on receiving alarms. A port that cannot be opened is
   * tried again. Resolves when the listener is open, or a fault has occurred.
   */
  listen(settings: ListenerSettings): Promise<void> {
    return this.#inTurn(() => this.#apply(settings));
  }

  /** Frees the port. Requests under way are still answered. */
  close(): Promise<void> {
    return this.#inTurn(async () => this.#shut());
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    clearTimeout(this.#retry);
    // A failure of one step, or of a change listener, must not stop the next step.
    this.#work = this.#work
      .then(step)
      .then(() => this.#watchers.notify())
      .catch((error: unknown) => this.#log(`Listener on port ${this.address.port}: ${String(error)}`));
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
      log: (line) => this.#log(`Listener on port ${this.address.port}: ${line}`),
      monotonic: this.#monotonic,
    });
    try {
      await server.listen(this.address.port, this.address.host);
      this.#server = server;
    } catch (error) {
      this.#retry = setTimeout(() => void this.listen(settings), this.options.retryMs ?? 5000);
      this.#retry.unref();
      throw listenFault(error, this.address);
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

/** Milliseconds between the stop of the flows and the closing of all listeners. */
const STOPPED_FOR_GOOD = 30_000;

/** The claim of one configuration to a listener, until it is released. */
export interface ListenerClaim {
  readonly listener: Listener;
  /** False where another configuration claimed the listener before: only the settings of the first count. */
  isFirst(): boolean;
  release(): void;
}

interface Entry {
  key: string;
  settings: ListenerSettings;
}

/**
 * All listeners of a process, one for each port and host. They outlive a deploy: between two runs of the flows the ports stay
 * open, and requests are held. Ports are opened and closed only when the flows have started, because only then it is known
 * which are wanted; so no configured path is ever answered 404.
 */
export class Listeners {
  readonly #listeners = new Map<string, Listener>();
  /** Oldest first. */
  readonly #claims = new Set<Entry>();
  #settling: Promise<void> = Promise.resolve();
  #areRunning = false;
  #stopped: NodeJS.Timeout | undefined;

  constructor(private readonly options: ListenerOptions & { stoppedMs?: number } = {}) {}

  claim(address: ListenerAddress, settings: ListenerSettings): ListenerClaim {
    const key = `${address.port} ${address.host}`;
    const listener = this.#listeners.get(key) ?? new Listener(address, this.options);
    this.#listeners.set(key, listener);
    const claim = { key, settings };
    this.#claims.add(claim);
    return {
      listener,
      isFirst: () => this.#firstOf(key) === claim,
      release: () => this.#claims.delete(claim),
    };
  }

  /** Opens the wanted ports with the current settings, and closes all others. */
  flowsStarted(): Promise<void> {
    clearTimeout(this.#stopped);
    this.#areRunning = true;
    this.#settling = this.#settling.then(() => this.#settle());
    return this.#settling;
  }

  /** Requests are held. Where the flows do not start again soon, all ports close: a refused connection is better than 404. */
  flowsStopping(): void {
    clearTimeout(this.#stopped);
    this.#areRunning = false;
    for (const { dispatcher } of this.#listeners.values()) dispatcher.flowsStopping();
    this.#stopped = setTimeout(() => void this.#closeAll(), this.options.stoppedMs ?? STOPPED_FOR_GOOD);
    this.#stopped.unref();
  }

  async #settle(): Promise<void> {
    // Between two runs of the flows claims are missing; the next start settles the ports.
    if (!this.#areRunning) return;
    const wanted: [Listener, ListenerSettings][] = [];
    const unwanted: Promise<void>[] = [];
    for (const [key, listener] of this.#listeners) {
      const claim = this.#firstOf(key);
      listener.dispatcher.flowsStarted();
      if (claim === undefined) unwanted.push(this.#giveUp(key, listener));
      else if (!listener.isWanted) unwanted.push(listener.close());
      else wanted.push([listener, claim.settings]);
    }
    // Ports are freed first: one of them may be wanted now with another host.
    await Promise.all(unwanted);
    await Promise.all(wanted.map(([listener, settings]) => listener.listen(settings)));
  }

  /** No claim can refer to this listener any more: a new claim for the port gets another one. So its held requests are cut. */
  #giveUp(key: string, listener: Listener): Promise<void> {
    this.#listeners.delete(key);
    listener.dispatcher.close();
    return listener.close();
  }

  async #closeAll(): Promise<void> {
    await Promise.all([...this.#listeners.values()].map((listener) => listener.close()));
  }

  #firstOf(key: string): Entry | undefined {
    for (const claim of this.#claims) if (claim.key === key) return claim;
    return undefined;
  }
}

/** Port and host of a listener. */
export interface ListenerAddress {
  port: number;
  /** Name or address of this machine; '' = all its addresses. */
  host: string;
}

/** @throws RvmError CONFIG_MISSING without certificate or key, BAD_INPUT where they are unusable; its text contains neither */
function assertUsable(tls: SecureContextOptions): void {
  if (tls.pfx === undefined && (tls.cert === undefined || tls.key === undefined)) {
    throw new RvmError(
      'CONFIG_MISSING',
      'The listener has no certificate with a private key: choose a TLS configuration that is enabled and has both, and see that their files can be read.',
    );
  }
  try {
    createSecureContext(tls);
  } catch (error) {
    throw new RvmError(
      'BAD_INPUT',
      `Certificate and private key of the listener cannot be used (${codeOf(error)}): see in its TLS configuration that both are PEM files, belong together, and have the right passphrase.`,
    );
  }
}

/** Describes why a port could not be opened, and what to do: NETWORK where another program has it, else BAD_INPUT. */
export function listenFault(error: unknown, { port, host }: ListenerAddress): RvmError {
  const code = codeOf(error);
  switch (code) {
    case 'EADDRINUSE':
      return new RvmError(
        'NETWORK',
        `Port ${port} of the listener is in use by another program, or by Node-RED itself: free it, or choose another. It is tried again every few seconds.`,
      );
    case 'EACCES':
      return new RvmError(
        'BAD_INPUT',
        `The listener may not open port ${port}: choose one from 1024 on, or give Node.js the right to open lower ones (on Linux the capability CAP_NET_BIND_SERVICE).`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new RvmError(
        'BAD_INPUT',
        `This machine has no address "${host}" for the listener: leave the host empty for all its addresses, or enter one of them.`,
      );
    default:
      return new RvmError(
        'BAD_INPUT',
        `The listener cannot open port ${port} (${code}): check its port and host.`,
      );
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

/**
 * Origin by which this machine reaches a server of its own, such as `https://127.0.0.1:8443`.
 * @param address as returned by the server; undefined where it does not listen on a port
 */
export function loopbackOrigin(
  scheme: 'http' | 'https',
  address: AddressInfo | string | null,
): string | undefined {
  if (address === null || typeof address === 'string') return undefined;
  const everywhere = address.address === '::' || address.address === '0.0.0.0';
  const host = everywhere ? '127.0.0.1' : address.address;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}
