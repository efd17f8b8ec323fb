import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { ChangeListeners } from '../concurrency/signals';
import { withTimeout } from '../concurrency/timers';
import { type Endpoint, matchingPath, ReadyEndpoints } from './endpoint';
import { ClockGuard } from './judge';
import { proofThread, type ProofThread } from './proof/proof-thread';
import { provenTimesOf } from './proven-times';
import { Quarantine } from './quarantine';
import { answer, type AnswerName, type ReceiverLimits, WebhookReceiver } from './receiver';
import { Reporter } from './reporter';
import { Senders } from './request';
import type { UnknownPaths } from './unknown-paths';

/** The webhook paths of a configuration, whether or not their nodes are built. */
export interface ConfiguredPaths {
  /** Paths of nodes that are not disabled. */
  paths: readonly string[];
  /** True where a path depends on a variable that is not set: it may be any of the former paths. */
  hasUnknown: boolean;
}

export interface DispatcherOptions extends Partial<ReceiverLimits> {
  /** Paths of the last run. Requests to them are held until the flows run, because no node is built yet. */
  rememberedPaths?: readonly string[];
  /** Reads the current configuration. Default: only the built endpoints count. */
  configured?: () => ConfiguredPaths;
  /** Wall clock, in milliseconds. */
  now?: () => number;
  /** Monotonic clock, in milliseconds. */
  monotonic?: () => number;
  /** Called with log lines for the operator, at most one of a kind in 10 s; they contain no secret. */
  log?: (line: string) => void;
  /** Counts posts to paths that begin like webhook paths and belong to no endpoint. */
  unknownPaths?: { begin: string; paths: UnknownPaths };
  /** Path, with a slash at its end, below which `live` and `ready` are answered. Default: no probes. */
  probesBelow?: string;
  /** Finds the sender of a request. Default: the peer of the connection. */
  senders?: Senders;
  /** How long the path of a removed endpoint is held while the flows run, in milliseconds. Default 60,000. */
  removedMs?: number;
  /** Proves large bodies. Default: the thread of the process. */
  proofThread?: ProofThread;
}

/** While no node is built, the deployed configuration is read again after this time, in milliseconds. */
const LOOK_AGAIN_MS = 250;

interface Live {
  endpoint: Endpoint;
  /** Ends the subscription to its changes. */
  unwatch: () => void;
}

/**
 * The one entrance of a server for webhooks: a map of paths to live endpoints, permanent while endpoints come and go. It sees
 * every request of the server first, while the raw bytes are still there.
 */
export class Dispatcher {
  readonly #live = new Map<string, Live>();
  /** Held requests, by path. */
  readonly #watchers = new PathWatchers();
  /**
   * Paths of removed endpoints and the monotonic time until which their requests are held; no end while the flows are stopped.
   */
  readonly #removed = new Map<string, number>();
  /** Configured paths whose nodes could not be built; until the flows have started, the paths of the last run. */
  #unbuilt: Set<string>;
  readonly #configured: () => ConfiguredPaths;
  readonly #monotonic: () => number;
  readonly #removedMs: number;
  readonly #receiver: WebhookReceiver;
  readonly #quarantine: Quarantine;
  readonly #senders: Senders;
  readonly #unknown: DispatcherOptions['unknownPaths'];
  readonly #readiness: Readiness;
  readonly #probes: Probes | undefined;
  #lookedUp: { at: number; paths: ReadonlySet<string> } | undefined;
  #hasStarted = false;

  constructor(options: DispatcherOptions = {}) {
    const now = options.now ?? Date.now;
    this.#monotonic = options.monotonic ?? (() => performance.now());
    this.#removedMs = options.removedMs ?? 60_000;
    this.#senders = options.senders ?? new Senders();
    this.#unknown = options.unknownPaths;
    this.#unbuilt = new Set(options.rememberedPaths?.map(matchingPath));
    this.#configured = options.configured ?? (() => ({ paths: [], hasUnknown: false }));
    this.#readiness = new Readiness(() => [...this.#live.values()].map(({ endpoint }) => endpoint));
    if (options.probesBelow !== undefined)
      this.#probes = new Probes(options.probesBelow, () => this.#readiness.isReady());
    const clockGuard = new ClockGuard(now, this.#monotonic);
    const reporter = new Reporter(this.#monotonic, options.log ?? (() => undefined));
    this.#quarantine = new Quarantine({ monotonic: this.#monotonic, clockGuard, reporter });
    this.#receiver = new WebhookReceiver({
      ...options,
      now,
      monotonic: this.#monotonic,
      proofThread: options.proofThread ?? proofThread,
      senders: this.#senders,
      clockGuard,
      quarantine: this.#quarantine,
      reporter,
    });
  }

  /**
   * Handles a request where its path is one of ours: configured (its node may not be built), remembered from the last run,
   * removed a moment ago, or a probe.
   * @returns false where the path is not ours; the request is then untouched
   */
  handle(req: IncomingMessage, res: ServerResponse): boolean {
    const path = matchingPath(req.url ?? '');
    if (this.#probes?.handle(path, req, res) === true) return true;
    if (!this.#isOurs(path)) {
      this.#watchUnknown(path, req, res);
      return false;
    }
    const endpoint = (): Endpoint | undefined => this.#live.get(path)?.endpoint;
    this.#receiver.receive(req, res, {
      path,
      endpoint,
      watch: (changed) => this.#watchers.add(path, changed),
    });
    return true;
  }

  /** Reads the requests of a server's connections one by one, from now on: see `Pipelines.attend`. */
  pace(server: Server, readsAhead = false): void {
    this.#receiver.pipelines.attend(server, readsAhead);
  }

  /** Answers a request to a server of our own that no handler takes. */
  refuse(req: IncomingMessage, res: ServerResponse, name: AnswerName): void {
    this.#receiver.pipelines.began(req, res);
    answer(req, res, name);
  }

  /** Whether a request target is ours, for a server that must know it before it calls `handle`. */
  owns(target: string): boolean {
    return this.#isOurs(matchingPath(target));
  }

  /** Whether an endpoint has a full path. */
  isTaken(path: string): boolean {
    return this.#live.has(matchingPath(path));
  }

  /**
   * Adds an endpoint; requests held for its path continue at once.
   * @returns false where another endpoint has the path
   */
  add(endpoint: Endpoint): boolean {
    const path = matchingPath(endpoint.path);
    const holder = this.#live.get(path);
    if (holder !== undefined) return holder.endpoint === endpoint;
    const notify = (): void => this.#watchers.notify(path);
    this.#live.set(path, { endpoint, unwatch: endpoint.watch(notify) });
    // Loaded now, so that the proven times are there when the first message comes.
    provenTimesOf(endpoint.inbox);
    this.#removed.delete(path);
    this.#unbuilt.delete(path);
    this.#unknown?.paths.taken(path);
    notify();
    return true;
  }

  /**
   * Requests to its path are held until the flows have run for a minute without it: a redeploy may bring the endpoint back,
   * else the sender notices the change.
   */
  remove(endpoint: Endpoint): void {
    const path = matchingPath(endpoint.path);
    const live = this.#live.get(path);
    if (live?.endpoint !== endpoint) return;
    live.unwatch();
    this.#live.delete(path);
    this.#removed.set(path, this.#readiness.flowsRun ? this.#monotonic() + this.#removedMs : Infinity);
  }

  /** From now on only configured paths count, built or not, and those removed a moment ago. */
  flowsStarted(): void {
    this.#hasStarted = true;
    this.#readiness.flowsRun = true;
    const { paths, hasUnknown } = this.#configured();
    const former = hasUnknown ? [...this.#unbuilt, ...this.#removed.keys()] : [];
    const wanted = [...paths.map(matchingPath), ...former];
    this.#unbuilt = new Set(wanted.filter((path) => !this.#live.has(path)));
    const until = this.#monotonic() + this.#removedMs;
    for (const [path, end] of this.#removed) if (end === Infinity) this.#removed.set(path, until);
  }

  /** Requests are held as long as the flows are stopped, and `ready` tells balancers to use another instance. */
  flowsStopping(): void {
    this.#readiness.flowsRun = false;
    this.#lookedUp = undefined;
    for (const [path, until] of this.#removed)
      if (until > this.#monotonic()) this.#removed.set(path, Infinity);
      else this.#removed.delete(path);
  }

  /** The configured paths, to be remembered for the next start. */
  paths(): string[] {
    return [...this.#live.keys(), ...(this.#hasStarted ? this.#unbuilt : [])];
  }

  /**
   * Judges quarantined messages of an endpoint again, because its phrases may have changed.
   * @returns the number of messages accepted
   * @throws RvmError STORE_FAILED
   */
  judgeAgain(endpoint: Endpoint): Promise<number> {
    return this.#quarantine.judgeAgain(endpoint);
  }

  /** Cuts held requests. From now on all requests to our paths are cut, also those of removed endpoints. */
  close(): void {
    this.flowsStopping();
    this.#receiver.close();
    this.#quarantine.close();
  }

  /**
   * A node of another package may answer the path, so only a 404 makes it unknown. Before the flows run that cannot be known.
   */
  #watchUnknown(path: string, req: IncomingMessage, res: ServerResponse): void {
    const unknown = this.#unknown;
    if (unknown === undefined || !this.#hasStarted || req.method !== 'POST') return;
    if (!path.toLowerCase().startsWith(unknown.begin.toLowerCase())) return;
    const post = { path, port: req.socket.localPort, remoteAddress: this.#senders.addressOf(req) };
    res.once('finish', () => {
      if (res.statusCode === 404) unknown.paths.posted(post);
    });
  }

  #isOurs(path: string): boolean {
    if (this.#live.has(path) || this.#unbuilt.has(path)) return true;
    if ((this.#removed.get(path) ?? -Infinity) > this.#monotonic()) return true;
    // Without built nodes the deployed configuration counts as well.
    return !this.#readiness.flowsRun && this.#deployed().has(path);
  }

  /** Read a few times a second at most: with thousands of nodes it takes milliseconds, and any sender can cause it. */
  #deployed(): ReadonlySet<string> {
    const now = this.#monotonic();
    if (this.#lookedUp === undefined || now - this.#lookedUp.at >= LOOK_AGAIN_MS)
      this.#lookedUp = { at: now, paths: new Set(this.#configured().paths.map(matchingPath)) };
    return this.#lookedUp.paths;
  }
}

/**
 * Listeners by path, called when the endpoint of the path arrives or becomes able to judge. A path without listeners is
 * deleted.
 */
class PathWatchers {
  readonly #ofPath = new Map<string, ChangeListeners>();

  /** @returns a function that ends the subscription */
  add(path: string, changed: () => void): () => void {
    const watchers = this.#ofPath.get(path) ?? new ChangeListeners();
    this.#ofPath.set(path, watchers);
    const end = watchers.add(changed);
    return () => {
      end();
      if (watchers.isEmpty && this.#ofPath.get(path) === watchers) this.#ofPath.delete(path);
    };
  }

  notify(path: string): void {
    this.#ofPath.get(path)?.notify();
  }
}

/**
 * Probes for load balancers and containers, without authentication and without details: is the process alive, and would it take
 * an alarm?
 */
export class Probes {
  /** @param below path, with a slash at its end */
  constructor(
    private readonly below: string,
    private readonly isReady: () => Promise<boolean>,
  ) {}

  /** @returns false where the path is no probe; the request is then untouched */
  handle(path: string, req: IncomingMessage, res: ServerResponse): boolean {
    const name = path.startsWith(this.below) ? path.slice(this.below.length) : '';
    if (name !== 'live' && name !== 'ready') return false;
    if (req.method !== 'GET' && req.method !== 'HEAD') answer(req, res, 'not-get');
    else if (name === 'live') answer(req, res, 'works');
    else void this.#answerReady(req, res);
    return true;
  }

  async #answerReady(req: IncomingMessage, res: ServerResponse): Promise<void> {
    answer(req, res, (await this.isReady()) ? 'works' : 'works-not');
  }
}

/** Timeout for the inboxes, in milliseconds: a disk that hangs would not store an alarm in time either. */
const TIMEOUT_MS = 1000;

/** Whether a server would take alarms: the flows run, at least one endpoint can judge, and each inbox would store a message. */
class Readiness {
  flowsRun = false;
  readonly #ready = new ReadyEndpoints();

  constructor(private readonly endpoints: () => readonly Endpoint[]) {}

  async isReady(): Promise<boolean> {
    if (!this.flowsRun) return false;
    const endpoints = this.endpoints();
    // One endpoint is enough: one without a phrase, which all copies of a flow lack, must not stop the alarms
    // of all others.
    if (!endpoints.some((endpoint) => this.#ready.of(endpoint) !== undefined)) return false;
    const inboxes = [...new Set(endpoints.map(({ inbox }) => inbox))];
    const willStore = await withTimeout(Promise.all(inboxes.map((inbox) => inbox.canAccept())), TIMEOUT_MS);
    return this.flowsRun && willStore?.every((keeps) => keeps) === true;
  }
}

/** Answers a request, or leaves it untouched and returns false. */
type PageHandler = (req: IncomingMessage, res: ServerResponse) => boolean;

/** Pages for people on a server for webhooks. Each handler is responsible for its own pages. */
export class PageRoutes {
  readonly #handlers = new Set<PageHandler>();
  readonly #needs = new Set<object>();

  /** @returns a function that removes the handler */
  add(handler: PageHandler): () => void {
    this.#handlers.add(handler);
    return () => void this.#handlers.delete(handler);
  }

  /** True while a caller wants pages here: the server then has to listen even without webhooks. */
  get areWanted(): boolean {
    return this.#needs.size > 0;
  }

  /**
   * Registers the need for pages before their handler, which may take time, is there.
   * @returns a function that ends it
   */
  want(): () => void {
    const need = {};
    this.#needs.add(need);
    return () => void this.#needs.delete(need);
  }

  /** @returns false where no handler takes the request; it is then untouched */
  handle(req: IncomingMessage, res: ServerResponse): boolean {
    for (const handler of this.#handlers) if (handler(req, res)) return true;
    return false;
  }
}
