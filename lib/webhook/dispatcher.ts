import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { ChangeListeners } from '../concurrency/signals';
import { withTimeout } from '../concurrency/timers';
import { type Endpoint, matchingPath, ReadyEndpoints } from './endpoint';
import { ClockGuard } from './judge';
import { proofThread, type ProofThread } from './proof/proof-thread';
import { provenTimesOf } from './proven-times';
import { Quarantine } from './quarantine';
import { answer, type AnswerName, WebhookReceiver } from './receiver';
import { Reporter } from './reporter';
import { BODY_LIMIT, Senders } from './request';
import type { UnknownPaths } from './unknown-paths';

/** What a configuration says of webhooks, whether or not they are built. */
export interface ConfiguredPaths {
  /** Of those that are not disabled. */
  paths: readonly string[];
  /** The path of one stands behind a variable that is not set: it may be any that was ours. */
  hasUnknown: boolean;
}

export interface DispatcherOptions {
  /** Paths of the last run: held until the flows run, because no node is built yet. */
  rememberedPaths?: readonly string[];
  /** The configuration of now. Default: nothing but what is built. */
  configured?: () => ConfiguredPaths;
  /** Wall clock, in milliseconds. */
  now?: () => number;
  /** Milliseconds of a clock that never jumps. */
  steady?: () => number;
  /** Told what an operator should know, at most one line of a kind in 10 s; nothing secret. */
  log?: (line: string) => void;
  /** Told of posts to paths that begin like those of webhooks, and that nobody has. */
  unknownPaths?: { begin: string; paths: UnknownPaths };
  /** Path, with a slash at its end, below which `live` and `ready` are answered. Default: nowhere. */
  probesBelow?: string;
  /** Who sent a request. Default: the peers of the connections. */
  senders?: Senders;
  /** Longest wait for what is needed to judge a request, in milliseconds. Default 3,000. */
  holdMs?: number;
  /** Latest time for the inbox to store a message, in milliseconds. Default 4,000. */
  commitMs?: number;
  /** How long the path of a removed endpoint is held while the flows run, in milliseconds. Default 60,000. */
  removedMs?: number;
  /** Longest body, in bytes. Default 1 MiB. */
  bodyLimit?: number;
  /** Time for a whole body, in milliseconds. Default 10,000. */
  bodyDeadlineMs?: number;
  /** Complete requests judged or stored at a time. Default 100. */
  capacity?: number;
  /** Proves large bodies. Default: the one of the process. */
  proofThread?: ProofThread;
}

/** While nothing is built: what was deployed counts after this time, in milliseconds. */
const LOOK_AGAIN_MS = 250;

interface Live {
  endpoint: Endpoint;
  /** Ends being told of its changes. */
  unwatch: () => void;
}

/**
 * The one entrance of a server for webhooks, permanent while endpoints come and go: a map of paths to live endpoints.
 * Looks at every request of the server first, so that the raw bytes are still there.
 */
export class Dispatcher {
  readonly #live = new Map<string, Live>();
  /** The requests that are held. */
  readonly #watchers = new PathWatchers();
  /** Paths whose endpoint went away, and the steady time until which they are held: none while the flows stand still. */
  readonly #removed = new Map<string, number>();
  /** Of the last run, until the flows have started. */
  readonly #remembered: Set<string>;
  /** Configured paths whose nodes could not be built. */
  #unbuilt = new Set<string>();
  readonly #configured: () => ConfiguredPaths;
  readonly #steady: () => number;
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
    this.#steady = options.steady ?? (() => performance.now());
    this.#removedMs = options.removedMs ?? 60_000;
    this.#senders = options.senders ?? new Senders();
    this.#unknown = options.unknownPaths;
    this.#remembered = new Set(options.rememberedPaths?.map(matchingPath));
    this.#configured = options.configured ?? (() => ({ paths: [], hasUnknown: false }));
    this.#readiness = new Readiness(() => [...this.#live.values()].map(({ endpoint }) => endpoint));
    if (options.probesBelow !== undefined)
      this.#probes = new Probes(options.probesBelow, () => this.#readiness.isReady());
    const clockGuard = new ClockGuard(now, this.#steady);
    const reporter = new Reporter(this.#steady, options.log ?? (() => undefined));
    this.#quarantine = new Quarantine({ steady: this.#steady, clockGuard, reporter });
    this.#receiver = new WebhookReceiver({
      now,
      steady: this.#steady,
      holdMs: options.holdMs ?? 3000,
      commitMs: options.commitMs ?? 4000,
      bodyLimit: options.bodyLimit ?? BODY_LIMIT,
      bodyDeadlineMs: options.bodyDeadlineMs ?? 10_000,
      capacity: options.capacity ?? 100,
      proofThread: options.proofThread ?? proofThread,
      senders: this.#senders,
      clockGuard,
      quarantine: this.#quarantine,
      reporter,
    });
  }

  /**
   * Deals with the request where its path is one of ours: configured, though its node may not be built, remembered from the
   * last run, removed a moment ago, or that of a probe. False = not ours, and untouched.
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

  /** Reads the requests of a server's connections one by one, from now on: see `Pipelines`. */
  pace(server: Server): void {
    this.#receiver.pipelines.attend(server);
  }

  /** Answers what a server of our own has nobody for. */
  refuse(req: IncomingMessage, res: ServerResponse, name: AnswerName): void {
    this.#receiver.pipelines.began(req, res);
    answer(req, res, name);
  }

  /** Whether a request target is ours: for what a server has to know before it hands a request to `handle`. */
  owns(target: string): boolean {
    return this.#isOurs(matchingPath(target));
  }

  /** Requests that are held for it go on at once. False where another endpoint has the path. */
  add(endpoint: Endpoint): boolean {
    const path = matchingPath(endpoint.path);
    const holder = this.#live.get(path);
    if (holder !== undefined) return holder.endpoint === endpoint;
    const tell = (): void => this.#watchers.tell(path);
    this.#live.set(path, { endpoint, unwatch: endpoint.watch(tell) });
    // Asked for now, it is there with the first message.
    provenTimesOf(endpoint.inbox);
    this.#removed.delete(path);
    this.#unbuilt.delete(path);
    this.#unknown?.paths.taken(path);
    tell();
    return true;
  }

  /**
   * Requests on its path are held until the flows have run for a minute without it: a redeploy brings it back, or the sender
   * notices the change.
   */
  remove(endpoint: Endpoint): void {
    const path = matchingPath(endpoint.path);
    const live = this.#live.get(path);
    if (live?.endpoint !== endpoint) return;
    live.unwatch();
    this.#live.delete(path);
    this.#removed.set(path, this.#readiness.flowsRun ? this.#steady() + this.#removedMs : Infinity);
  }

  /** From now on only configured paths count, built or not, and those removed a moment ago. */
  flowsStarted(): void {
    this.#hasStarted = true;
    this.#readiness.flowsRun = true;
    const { paths, hasUnknown } = this.#configured();
    const former = hasUnknown ? [...this.#remembered, ...this.#unbuilt, ...this.#removed.keys()] : [];
    const wanted = [...paths.map(matchingPath), ...former];
    this.#unbuilt = new Set(wanted.filter((path) => !this.#live.has(path)));
    this.#remembered.clear();
    const until = this.#steady() + this.#removedMs;
    for (const [path, end] of this.#removed) if (end === Infinity) this.#removed.set(path, until);
  }

  /** What comes is held, however long they stand still, and `ready` says that another should be asked. */
  flowsStopping(): void {
    this.#readiness.flowsRun = false;
    this.#lookedUp = undefined;
    for (const [path, until] of this.#removed)
      if (until > this.#steady()) this.#removed.set(path, Infinity);
      else this.#removed.delete(path);
  }

  /** The configured paths, to be remembered for the next start. */
  paths(): string[] {
    return [...this.#live.keys(), ...this.#unbuilt];
  }

  /**
   * Judges once more what nothing had proved when an endpoint received it, for its phrases may have changed.
   * @returns how many were accepted
   * @throws RvmError STORE_FAILED
   */
  judgeAgain(endpoint: Endpoint): Promise<number> {
    return this.#quarantine.judgeAgain(endpoint);
  }

  /** Cuts what is held. Requests on our paths, those of removed endpoints too, are cut from now on. */
  close(): void {
    this.flowsStopping();
    this.#receiver.close();
    this.#quarantine.close();
  }

  /** A node of another package may have the path: only what nobody answers is unknown. Before the flows run nobody can tell. */
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
    if (this.#live.has(path) || this.#remembered.has(path) || this.#unbuilt.has(path)) return true;
    if ((this.#removed.get(path) ?? -Infinity) > this.#steady()) return true;
    // Nothing is built, of what was deployed meanwhile too.
    return !this.#readiness.flowsRun && this.#deployed().has(path);
  }

  /** Looked up at most some times a second: of thousands of nodes that takes milliseconds, and anybody may ask. */
  #deployed(): ReadonlySet<string> {
    const now = this.#steady();
    if (this.#lookedUp === undefined || now - this.#lookedUp.at >= LOOK_AGAIN_MS)
      this.#lookedUp = { at: now, paths: new Set(this.#configured().paths.map(matchingPath)) };
    return this.#lookedUp.paths;
  }
}

/** Those who wait for a change at a path: its endpoint comes, or can judge. A path that nobody waits at is forgotten. */
class PathWatchers {
  readonly #ofPath = new Map<string, ChangeListeners>();

  /** Calls back at each change; returns the way to end that. */
  add(path: string, changed: () => void): () => void {
    const watchers = this.#ofPath.get(path) ?? new ChangeListeners();
    this.#ofPath.set(path, watchers);
    const end = watchers.add(changed);
    return () => {
      end();
      if (watchers.isEmpty && this.#ofPath.get(path) === watchers) this.#ofPath.delete(path);
    };
  }

  tell(path: string): void {
    this.#ofPath.get(path)?.tell();
  }
}

/** What balancers and containers ask, of anybody and without any detail: does it live, and would it take an alarm? */
export class Probes {
  /** @param below path, with a slash at its end */
  constructor(
    private readonly below: string,
    private readonly isReady: () => Promise<boolean>,
  ) {}

  /** False = its path is no probe, and it is untouched. */
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

/** Longest wait for what an inbox says, in milliseconds: a disk that hangs would take no alarm in time either. */
const PATIENCE = 1000;

/** Whether a server would take alarms: the flows run, a message can be judged, and each of its inboxes would keep it. */
class Readiness {
  flowsRun = false;
  readonly #ready = new ReadyEndpoints();

  constructor(private readonly endpoints: () => readonly Endpoint[]) {}

  async isReady(): Promise<boolean> {
    if (!this.flowsRun) return false;
    const endpoints = this.endpoints();
    // One without a phrase, which all copies of a flow lack, must not keep the alarms of all others out.
    if (!endpoints.some((endpoint) => this.#ready.of(endpoint) !== undefined)) return false;
    const inboxes = [...new Set(endpoints.map(({ inbox }) => inbox))];
    const kept = await withTimeout(Promise.all(inboxes.map((inbox) => inbox.wouldKeep())), PATIENCE);
    return this.flowsRun && kept?.every((keeps) => keeps) === true;
  }
}

/** Answers a request, or leaves it untouched and says false. */
type PageHandler = (req: IncomingMessage, res: ServerResponse) => boolean;

/** What a server for webhooks shows to people, beside the webhooks: whoever has a page there answers for it. */
export class PageRoutes {
  readonly #handlers = new Set<PageHandler>();
  readonly #wishes = new Set<object>();

  /** @returns the way to take it away */
  add(handler: PageHandler): () => void {
    this.#handlers.add(handler);
    return () => void this.#handlers.delete(handler);
  }

  /** True while somebody wants pages here: then the server has to listen, with webhooks or without. */
  get areWanted(): boolean {
    return this.#wishes.size > 0;
  }

  /** To be told before there is a handler, which may take its time. @returns the way to end it */
  want(): () => void {
    const wish = {};
    this.#wishes.add(wish);
    return () => void this.#wishes.delete(wish);
  }

  /** False = nobody's, and untouched. */
  handle(req: IncomingMessage, res: ServerResponse): boolean {
    for (const handler of this.#handlers) if (handler(req, res)) return true;
    return false;
  }
}
