import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { SeededChoice } from '../../../sandbox/world/seeded';

/** What can happen to a connection as it is made. */
export const CONNECT_FAULTS = [
  /** It is reset at once. */
  'connect-reset',
  /** It is accepted, and nothing that is sent on it is ever answered. */
  'connect-mute',
] as const;

/** What can happen to one request and its answer. */
export const EXCHANGE_FAULTS = [
  /** The answer comes late. */
  'latency',
  /** The request goes on in part, then the connection is reset. */
  'request-reset',
  /** The request goes on, and the connection is reset when the answer comes. */
  'unanswered-reset',
  /** The answer is passed on in part, then the connection is reset. */
  'answer-reset',
  /** The answer is passed on in part, then the connection is closed in good order (FIN). */
  'answer-cut',
  /** The answer is passed on in part, then nothing more; the connection stays open. */
  'answer-stall',
  /** The request goes on, the answer does not; the connection stays open. */
  'answer-silence',
] as const;

type ConnectFault = (typeof CONNECT_FAULTS)[number];
type ExchangeFault = (typeof EXCHANGE_FAULTS)[number];
type Fault = ConnectFault | ExchangeFault;

interface FaultyProxyOptions {
  seed: number;
  /** Of a hundred connections so many get a fault as they are made. */
  connectFaults: number;
  /** Of a hundred requests so many get a fault. */
  exchangeFaults: number;
  /** Longest delay of an answer, in milliseconds. */
  latencyMs: number;
}

/**
 * A TCP proxy that disturbs what it passes on, by chance but repeatably. It knows of HTTP only that requests and
 * answers take turns.
 */
export class FaultyProxy {
  /** How often each fault has happened. */
  readonly counts: Record<Fault, number>;
  /** Connections accepted, and exchanges begun on them. */
  readonly seen = { connections: 0, exchanges: 0 };
  readonly #server: Server;
  readonly #target: { host: string; port: number };
  readonly #options: FaultyProxyOptions;
  readonly #choice: SeededChoice;
  readonly #passages = new Set<ProxiedConnection>();
  #disturbing = false;

  private constructor(server: Server, target: URL, options: FaultyProxyOptions) {
    const none = [...CONNECT_FAULTS, ...EXCHANGE_FAULTS].map((fault) => [fault, 0]);
    this.counts = Object.fromEntries(none) as Record<Fault, number>;
    this.#server = server;
    this.#target = { host: target.hostname, port: Number(target.port) };
    this.#options = options;
    this.#choice = new SeededChoice(options.seed);
    server.on('connection', (socket) => this.#accept(socket));
  }

  /** @param target an address such as `http://127.0.0.1:8088` */
  static async start(target: string, options: FaultyProxyOptions): Promise<FaultyProxy> {
    const server = createServer();
    const proxy = new FaultyProxy(server, new URL(target), options);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Connections of clients that are open now. */
  get connections(): number {
    return this.#passages.size;
  }

  /** From now on there are faults. */
  disturb(): void {
    this.#disturbing = true;
  }

  /** From now on all is passed on as it comes; connections that have gone dead are reset. */
  calm(): void {
    this.#disturbing = false;
    for (const passage of this.#passages) passage.resetIfDead();
  }

  async close(): Promise<void> {
    for (const passage of this.#passages) passage.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    this.seen.connections += 1;
    const fault = this.#draw(CONNECT_FAULTS, this.#options.connectFaults);
    if (fault === 'connect-reset') {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const upstream = fault === 'connect-mute' ? undefined : connect(this.#target);
    const passage = new ProxiedConnection(client, upstream, {
      exchange: () => this.#exchange(),
      below: (limit) => this.#choice.below(limit),
      latencyMs: this.#options.latencyMs,
    });
    this.#passages.add(passage);
    client.once('close', () => this.#passages.delete(passage));
  }

  #exchange(): ExchangeFault | undefined {
    this.seen.exchanges += 1;
    return this.#draw(EXCHANGE_FAULTS, this.#options.exchangeFaults);
  }

  #draw<T extends Fault>(faults: readonly T[], ofHundred: number): T | undefined {
    if (!this.#disturbing || this.#choice.below(100) >= ofHundred) return undefined;
    const fault = this.#choice.pick(faults);
    if (fault !== undefined) this.counts[fault] += 1;
    return fault;
  }
}

interface Chance {
  /** The fault of the exchange that begins now, if any. */
  exchange: () => ExchangeFault | undefined;
  below: (limit: number) => number;
  latencyMs: number;
}

/** One connection of a client and the one that it is passed on to. */
class ProxiedConnection {
  readonly #client: Socket;
  readonly #upstream: Socket | undefined;
  readonly #chance: Chance;
  #fault: ExchangeFault | undefined;
  /** Whose turn it is: what a client sends after an answer is a new request. */
  #turn: 'client' | 'server' = 'server';
  #swallowing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(client: Socket, upstream: Socket | undefined, chance: Chance) {
    this.#client = client;
    this.#upstream = upstream;
    this.#chance = chance;
    client.setNoDelay(true);
    client.on('error', () => undefined);
    client.on('data', (chunk: Buffer) => this.#onRequest(chunk));
    client.on('close', () => this.destroy());
    upstream?.setNoDelay(true);
    upstream?.on('error', () => this.#reset());
    upstream?.on('data', (chunk: Buffer) => this.#onAnswer(chunk));
    upstream?.on('end', () => this.#endInTurn());
  }

  resetIfDead(): void {
    if (this.#swallowing || this.#upstream === undefined) this.#reset();
  }

  destroy(): void {
    clearTimeout(this.#timer);
    this.#client.destroy();
    this.#upstream?.destroy();
  }

  #reset(): void {
    clearTimeout(this.#timer);
    this.#client.resetAndDestroy();
    this.#upstream?.destroy();
  }

  /** The server has closed in good order; a client that gets no answers does not learn of it. */
  #endInTurn(): void {
    if (!this.#swallowing && this.#timer === undefined) this.#client.end();
  }

  #onRequest(chunk: Buffer): void {
    if (this.#upstream === undefined) return;
    if (this.#turn === 'server') {
      this.#turn = 'client';
      this.#fault = this.#chance.exchange();
    }
    if (this.#fault !== 'request-reset') {
      this.#upstream.write(chunk);
      return;
    }
    this.#upstream.write(this.#part(chunk), () => this.#reset());
  }

  #onAnswer(chunk: Buffer): void {
    this.#turn = 'server';
    const fault = this.#fault;
    this.#fault = undefined;
    if (this.#swallowing) return;
    switch (fault) {
      case 'unanswered-reset':
        this.#reset();
        break;
      case 'answer-reset':
        this.#swallowing = true;
        this.#client.write(this.#part(chunk), () => this.#reset());
        break;
      case 'answer-cut':
        this.#swallowing = true;
        this.#client.end(this.#part(chunk));
        break;
      case 'answer-stall':
        this.#swallowing = true;
        this.#client.write(this.#part(chunk));
        break;
      case 'answer-silence':
        this.#swallowing = true;
        break;
      case 'latency':
        this.#delay(chunk);
        break;
      case 'request-reset':
      case undefined:
        this.#client.write(chunk);
    }
  }

  #delay(chunk: Buffer): void {
    this.#upstream?.pause();
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#client.write(chunk);
        this.#upstream?.resume();
      },
      1 + this.#chance.below(this.#chance.latencyMs),
    );
  }

  /** A true part of it: at least one byte is left out. */
  #part(chunk: Buffer): Buffer {
    return chunk.subarray(0, this.#chance.below(chunk.length));
  }
}
