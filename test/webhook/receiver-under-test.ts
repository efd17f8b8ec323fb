import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import { RvmError } from '../../lib/error';
import type { Acceptance, Delivery, Inbox } from '../../lib/inbox/model';
import type { ProvenMessage } from '../../lib/message/record';
import { Dispatcher, type DispatcherOptions } from '../../lib/webhook/dispatcher';
import type { Endpoint } from '../../lib/webhook/endpoint';
import { ignoreUpgrades } from '../../lib/webhook/listener-server';
import { Listener } from '../../lib/webhook/listener';
import type { Problem } from '../../lib/webhook/problem';
import { ProofThread } from '../../lib/webhook/proof/proof-thread';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { CancelToken, ChangeListeners } from '../../lib/concurrency/signals';
import { InlineInbox } from '../support/inbox/each-store';
import { portOf } from '../support/network/servers';
import { eventually, PATIENCE } from '../support/time/patience';
import { authorizationFor, signed, station } from './sample';

export const PATH = '/remote-monitoring/abc';

/** An endpoint of one station, with an inbox of nothing but this test. */
export function endpointOf(changes: Partial<Endpoint> = {}): Endpoint {
  return {
    id: 'webhook-in',
    path: PATH,
    stations: () => [station()],
    watch: () => () => undefined,
    stationOfAgentUser: () => undefined,
    inbox: new InlineInbox(),
    onProblem: () => undefined,
    ...changes,
  };
}

/** An inbox that notes what it is asked to store, and where told so fails, or waits until it may go on. */
export class GatedInbox extends InlineInbox {
  readonly asked: string[] = [];
  readonly #waiting: (() => void)[] = [];
  isSlow: boolean;
  /** Times that it fails from now on. */
  failures: number;

  constructor({ isSlow = false, failures = 0 } = {}) {
    super();
    this.isSlow = isSlow;
    this.failures = failures;
  }

  override async accept(message: ProvenMessage): Promise<Acceptance> {
    this.asked.push(message.envelope.messageId);
    if (this.isSlow) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.failures === 0) return super.accept(message);
    this.failures -= 1;
    throw new RvmError('STORE_FAILED', 'The disk is full; make room.');
  }

  get pending(): number {
    return this.#waiting.length;
  }

  /** Lets so many go on of what waits, the oldest first. */
  commit(count = Infinity): void {
    for (const goOn of this.#waiting.splice(0, count)) goOn();
  }
}

/** A request as it stands on a connection; with the length of its body, unless the lines say how that is framed. */
export function requestText(
  body: string,
  lines: readonly string[] = [],
  target = PATH,
  method = 'POST',
): string {
  const isFramed = lines.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const length = isFramed ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return [`${method} ${target} HTTP/1.1`, 'Host: receiver', ...lines, ...length, '', body].join('\r\n');
}

export function signedText(body = signed().body, lines: readonly string[] = [], target = PATH): string {
  return requestText(body, [`Authorization: ${authorizationFor(body)}`, ...lines], target);
}

/** How many there are of each of these statuses. */
export function countsOf(statuses: readonly number[], ...wanted: number[]): number[] {
  return wanted.map((each) => statuses.filter((status) => status === each).length);
}

/** The statuses of all answers that came on a connection. */
export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

export interface Answer {
  /** 0 = the connection ended without an answer. */
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

export interface Post {
  body?: string | Uint8Array;
  headers?: Record<string, string | string[]>;
  path?: string;
  method?: string;
}

type Proving = ProofThread['prove'];

/** The thread in which large bodies are proven, for as long as a busy machine may need for that. */
class PatientThread extends ProofThread {
  override prove(...[message, stations]: Parameters<Proving>): ReturnType<Proving> {
    return super.prove(message, stations, new CancelToken());
  }
}
const patientThread = new PatientThread();

/** The servers that a webhook may be on: one as Node-RED has it, with the dispatcher in front; and a listener. */
export type ServerKind = 'node-red' | 'older-node' | 'listener';
export const SERVERS: readonly [ServerKind, string][] = [
  ['node-red', 'a server like that of Node-RED'],
  ['listener', 'a listener of its own'],
];
/** With one on a Node.js that asks nobody whether to upgrade a connection: before 22.21 and 24.9. */
export const SERVERS_AND_OLDER: readonly [ServerKind, string][] = [
  ...SERVERS,
  ['older-node', 'a server like that of Node-RED on an older Node.js'],
];

/** What a server like that of Node-RED has seen; a listener shows it to nobody. */
interface Seen {
  /** Requests that have come in whole. */
  requests: number;
  /** Connections that are open. */
  connections: number;
  /** Most bytes that were found waiting behind a request of a connection. */
  behind: number;
}

interface TestedServer {
  dispatcher: Dispatcher;
  seen: Readonly<Seen>;
  port(): number;
  open(): Promise<unknown>;
  closeConnections(): void;
  close(): Promise<unknown>;
}

function likeNodeRed(options: DispatcherOptions, isOlder = false): TestedServer {
  const dispatcher = new Dispatcher(options);
  const sockets = new Set<net.Socket>();
  const seen: Seen = { requests: 0, connections: 0, behind: 0 };
  const server = http.createServer((req, res) => {
    req.once('end', () => (seen.requests += 1));
    const { socket } = req;
    res.once('close', () => (seen.behind = Math.max(seen.behind, socket.readableLength)));
    if (!dispatcher.handle(req, res)) res.writeHead(404).end('not ours');
  });
  server.on('connection', (socket) => {
    // One that is handed back.
    if (sockets.has(socket)) return;
    seen.connections = sockets.add(socket).size;
    socket.once('close', () => (seen.connections -= Number(sockets.delete(socket))));
  });
  const ignore = (): void => ignoreUpgrades(server, (target) => dispatcher.owns(target));
  if (isOlder) withoutAsking(server, ignore);
  else ignore();
  dispatcher.pace(server);
  const closeConnections = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    dispatcher,
    seen,
    port: () => portOf(server),
    open: () => once(server.listen(0, '127.0.0.1'), 'listening'),
    closeConnections,
    close: () => {
      closeConnections();
      return once(server.close(), 'close');
    },
  };
}

/** Does something to a server while it has no callback that decides on an upgrade. */
function withoutAsking(server: http.Server & { shouldUpgradeCallback?: unknown }, deed: () => void): void {
  const { shouldUpgradeCallback } = server;
  delete server.shouldUpgradeCallback;
  deed();
  if (shouldUpgradeCallback !== undefined) server.shouldUpgradeCallback = shouldUpgradeCallback;
}

function ownListener(dispatcher: DispatcherOptions): TestedServer {
  const listener = new Listener({ port: 0, host: '127.0.0.1' }, { dispatcher });
  return {
    dispatcher: listener.dispatcher,
    seen: { requests: 0, connections: 0, behind: 0 },
    port: () => Number(new URL(listener.origin ?? '').port),
    open: () => listener.listen({ proxies: [] }),
    closeConnections: () => void listener.close(),
    close: () => listener.close(),
  };
}

/** Writes bytes by hand to a socket that connects, and reads until the other side ends it, or `enough` says so. */
export async function exchange(
  socket: net.Socket,
  pieces: readonly (string | Uint8Array)[],
  enough = /$^/,
): Promise<string> {
  socket.setNoDelay(true);
  let text = '';
  const done = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (enough.test(text)) resolve();
    });
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
  });
  for (const piece of pieces) await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
  await done;
  socket.destroy();
  return text;
}

/** A dispatcher on a real server, with one endpoint, and what came out of it. */
export class ReceiverUnderTest {
  readonly deliveries: Delivery[] = [];
  readonly spells: { count: number; isOver: boolean }[] = [];
  readonly problems: Problem[] = [];
  readonly lines: string[] = [];
  readonly #changes = new ChangeListeners();
  #stations: ReceivingStation[] | undefined = [station()];
  agentUsers: Record<string, string> = {};
  readonly dispatcher: Dispatcher;
  readonly endpoint: Endpoint;
  readonly #server: TestedServer;

  private constructor(
    start: (options: DispatcherOptions) => TestedServer,
    options: DispatcherOptions,
    inbox: Inbox,
    changes: Partial<Endpoint>,
  ) {
    this.#server = start({ log: (line) => this.lines.push(line), ...options });
    this.dispatcher = this.#server.dispatcher;
    this.endpoint = endpointOf({
      stations: () => this.stations,
      watch: (changed) => this.#changes.add(changed),
      stationOfAgentUser: (id) => this.agentUsers[id],
      inbox,
      onProblem: (problem) => this.problems.push(problem),
      ...changes,
    });
    const { id } = this.endpoint;
    const limits = { redeliverAfter: 120_000, maxAttempts: 12, maxInFlight: 100 };
    const untold = { onDead: () => undefined, onBlocked: () => undefined, onIncident: () => undefined };
    const consumption = inbox.consume({
      ...limits,
      ...untold,
      endpointId: id,
      nodeId: id,
      handledWhen: 'sent',
      deliver: (delivery) => this.deliveries.push(delivery) > 0,
      onSpilled: (spell) => this.spells.push(spell),
    });
    consumption.resume();
  }

  static async start(
    options: DispatcherOptions & {
      inbox?: Inbox;
      endpoint?: Partial<Endpoint>;
      absent?: boolean;
      on?: ServerKind;
    } = {},
  ): Promise<ReceiverUnderTest> {
    const { inbox = new InlineInbox(), endpoint = {}, absent = false, on, ...dispatcherOptions } = options;
    const start = (its: DispatcherOptions): TestedServer =>
      on === 'listener' ? ownListener(its) : likeNodeRed(its, on === 'older-node');
    const all = { holdMs: 150, commitMs: PATIENCE, proofThread: patientThread, ...dispatcherOptions };
    const receiver = new ReceiverUnderTest(start, all, inbox, endpoint);
    if (!absent) receiver.dispatcher.add(receiver.endpoint);
    await receiver.#server.open();
    return receiver;
  }

  get stations(): ReceivingStation[] | undefined {
    return this.#stations;
  }

  /** Changes them as a deploy does: the endpoint tells of it. */
  set stations(stations: ReceivingStation[] | undefined) {
    this.#stations = stations;
    this.#changes.notify();
  }

  get port(): number {
    return this.#server.port();
  }

  get seen(): Readonly<Seen> {
    return this.#server.seen;
  }

  closeConnections(): void {
    this.#server.closeConnections();
  }

  async close(): Promise<void> {
    this.dispatcher.close();
    await this.#server.close();
    await this.endpoint.inbox.close();
  }

  /** Posts over a connection of its own; status 0 where it is cut. */
  post(post: Post): Promise<Answer> {
    const { body = '', headers = {}, path = PATH, method = 'POST' } = post;
    return new Promise((resolve) => {
      const place = { port: this.port, host: '127.0.0.1', path };
      const request = http.request({ ...place, method, headers, agent: false });
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const { statusCode = 0, headers } = response;
          resolve({ status: statusCode, headers, text: Buffer.concat(chunks).toString() });
        });
      });
      request.on('error', () => resolve({ status: 0, headers: {}, text: '' }));
      request.end(body);
    });
  }

  async statusOf(post: Post): Promise<number> {
    return (await this.post(post)).status;
  }

  /** Posts messages one after the other, each of which is answered by 200. */
  async takes(...posts: Post[]): Promise<void> {
    for (const post of posts) assert.equal(await this.statusOf(post), 200);
  }

  /** Writes bytes by hand and reads until the server ends the connection, or `enough` says so. */
  raw(pieces: readonly (string | Uint8Array)[], enough = /$^/): Promise<string> {
    return exchange(net.connect(this.port, '127.0.0.1'), pieces, enough);
  }

  until(condition: () => boolean, what: string): Promise<void> {
    return eventually(condition, what);
  }

  delivered(count: number): Promise<void> {
    return this.until(() => this.deliveries.length >= count, `delivery ${count}`);
  }

  reasons(): (string | null)[] {
    return this.problems.map(({ reason }) => reason);
  }
}
