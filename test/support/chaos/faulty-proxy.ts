import { connect, createServer, type Server, type Socket } from 'node:net';
import { SeededChoice } from '../../../sandbox/world/seeded';
import { LocalServer } from '../network/servers';

export const CONNECT_FAULTS = [
  /** It is reset at once. */
  'connect-reset',
  /** It is accepted, and nothing that is sent on it is ever answered. */
  'connect-mute',
] as const;

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
  latencyMs: number;
}

/**
 * A TCP proxy that disturbs what it passes on, by chance but repeatably. It knows of HTTP only that requests and
 * answers take turns.
 */
export class FaultyProxy extends LocalServer {
  readonly counts: Record<Fault, number>;
  readonly choice: SeededChoice;
  readonly #passages = new Set<ProxiedConnection>();
  #disturbing = false;

  private constructor(
    server: Server,
    private readonly target: URL,
    readonly options: FaultyProxyOptions,
  ) {
    super(server);
    const none = [...CONNECT_FAULTS, ...EXCHANGE_FAULTS].map((fault) => [fault, 0]);
    this.counts = Object.fromEntries(none) as Record<Fault, number>;
    this.choice = new SeededChoice(options.seed);
    server.on('connection', (socket) => this.#accept(socket));
  }

  /** @param target an address such as `http://127.0.0.1:8088` */
  static start(target: string, options: FaultyProxyOptions): Promise<FaultyProxy> {
    return new FaultyProxy(createServer(), new URL(target), options).listening();
  }

  get connections(): number {
    return this.#passages.size;
  }

  disturb(): void {
    this.#disturbing = true;
  }

  /** From now on all is passed on as it comes; connections that have gone dead are reset. */
  calm(): void {
    this.#disturbing = false;
    for (const passage of this.#passages) passage.resetIfDead();
  }

  override async close(): Promise<void> {
    for (const passage of this.#passages) passage.destroy();
    await super.close();
  }

  #accept(client: Socket): void {
    const fault = this.#draw(CONNECT_FAULTS, this.options.connectFaults);
    if (fault === 'connect-reset') {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const { hostname: host, port } = this.target;
    const upstream = fault === 'connect-mute' ? undefined : connect({ host, port: Number(port) });
    const passage = new ProxiedConnection(client, upstream, this);
    this.#passages.add(passage);
    client.once('close', () => this.#passages.delete(passage));
  }

  exchange(): ExchangeFault | undefined {
    return this.#draw(EXCHANGE_FAULTS, this.options.exchangeFaults);
  }

  #draw<T extends Fault>(faults: readonly T[], ofHundred: number): T | undefined {
    if (!this.#disturbing || this.choice.below(100) >= ofHundred) return undefined;
    const fault = this.choice.pick(faults);
    if (fault !== undefined) this.counts[fault] += 1;
    return fault;
  }
}

class ProxiedConnection {
  #fault: ExchangeFault | undefined;
  /** Whose turn it is: what a client sends after an answer is a new request. */
  #turn: 'client' | 'server' = 'server';
  #swallowing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Socket,
    private readonly upstream: Socket | undefined,
    private readonly proxy: FaultyProxy,
  ) {
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
    if (this.#swallowing || this.upstream === undefined) this.#reset();
  }

  destroy(): void {
    clearTimeout(this.#timer);
    this.client.destroy();
    this.upstream?.destroy();
  }

  #reset(): void {
    this.client.resetAndDestroy();
    this.destroy();
  }

  /** The server has closed in good order; a client that gets no answers does not learn of it. */
  #endInTurn(): void {
    if (!this.#swallowing && this.#timer === undefined) this.client.end();
  }

  #onRequest(chunk: Buffer): void {
    if (this.#turn === 'server') {
      this.#turn = 'client';
      if (this.upstream !== undefined) this.#fault = this.proxy.exchange();
    }
    if (this.#fault !== 'request-reset') this.upstream?.write(chunk);
    else this.upstream?.write(this.#part(chunk), () => this.#reset());
  }

  #onAnswer(chunk: Buffer): void {
    this.#turn = 'server';
    const fault = this.#fault;
    this.#fault = undefined;
    if (this.#swallowing) return;
    this.#swallowing = fault?.startsWith('answer-') === true;
    if (fault === 'unanswered-reset') this.#reset();
    else if (fault === 'answer-reset') this.client.write(this.#part(chunk), () => this.#reset());
    else if (fault === 'answer-cut') this.client.end(this.#part(chunk));
    else if (fault === 'answer-stall') this.client.write(this.#part(chunk));
    else if (fault === 'latency') this.#delay(chunk);
    else if (!this.#swallowing) this.client.write(chunk);
  }

  #delay(chunk: Buffer): void {
    this.upstream?.pause();
    const goOn = (): void => {
      this.#timer = undefined;
      this.client.write(chunk);
      this.upstream?.resume();
    };
    this.#timer = setTimeout(goOn, 1 + this.proxy.choice.below(this.proxy.options.latencyMs));
  }

  /** A true part of it: at least one byte is left out. */
  #part(chunk: Buffer): Buffer {
    return chunk.subarray(0, this.proxy.choice.below(chunk.length));
  }
}
