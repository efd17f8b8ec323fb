import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

/**
 * A way to a server that can be cut as by a pulled cable: nothing goes through in either direction, nobody is told, and what
 * is under way arrives once it is mended.
 */
export class TcpGate {
  readonly #server = net.createServer((client) => this.#accept(client));
  readonly #passages = new Set<GatedConnection>();
  #isCut = false;

  /**
   * @param target port of the server
   * @param lag what the server says comes so many milliseconds later
   */
  private constructor(
    private target: number,
    private readonly lag: number,
  ) {}

  static async start(target: number, { lag = 0 } = {}): Promise<TcpGate> {
    const gate = new TcpGate(target, lag);
    gate.#server.listen(0, '127.0.0.1');
    await once(gate.#server, 'listening');
    return gate;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Further connections go to another server. */
  lead(target: number): void {
    this.target = target;
  }

  cut(): void {
    this.#isCut = true;
    for (const passage of this.#passages) passage.pause();
  }

  /** The connections that there are carry nothing any more; further ones do. */
  strand(): void {
    for (const passage of this.#passages) passage.pause();
  }

  /** Of the connections that there are, the server hears all, and nobody hears the server. */
  loseAnswers(): void {
    for (const passage of this.#passages) passage.losesAnswers = true;
  }

  /** Ends the connections that there are. */
  end(): void {
    for (const passage of this.#passages) passage.destroy();
  }

  mend(): void {
    this.#isCut = false;
    for (const passage of this.#passages) passage.resume();
  }

  async close(): Promise<void> {
    this.end();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    const passage = new GatedConnection(client, this.target, this.lag);
    this.#passages.add(passage);
    client.once('close', () => this.#passages.delete(passage));
    if (this.#isCut) passage.pause();
    else passage.resume();
  }
}

/** A connection of a client, and the one that it is passed on to once the gate is open. */
class GatedConnection {
  losesAnswers = false;
  #upstream: Socket | undefined;

  constructor(
    private readonly client: Socket,
    private readonly target: number,
    private readonly lag: number,
  ) {
    client.setNoDelay(true).pause();
    client.on('error', () => undefined);
    client.on('data', (piece: Buffer) => this.#upstream?.write(piece));
    client.on('close', () => this.#upstream?.destroy());
  }

  pause(): void {
    this.client.pause();
    this.#upstream?.pause();
  }

  resume(): void {
    this.#upstream ??= this.#connect();
    this.client.resume();
    this.#upstream.resume();
  }

  destroy(): void {
    this.client.destroy();
    this.#upstream?.destroy();
  }

  #connect(): Socket {
    const upstream = net.connect(this.target, '127.0.0.1').setNoDelay(true);
    upstream.on('error', () => this.client.resetAndDestroy());
    upstream.on('data', (piece: Buffer) => this.#answer(() => this.client.write(piece)));
    upstream.on('close', () => this.#answer(() => this.client.end()));
    return upstream;
  }

  #answer(pass: () => void): void {
    if (this.losesAnswers) return;
    if (this.lag === 0) pass();
    else setTimeout(pass, this.lag);
  }
}
