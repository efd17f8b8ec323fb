import {
  Agent,
  createServer,
  request,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { buffer } from 'node:stream/consumers';
import { SeededChoice } from '../../../sandbox/world/seeded';
import { LocalServer } from '../network/servers';

/** What a gateway does in the place of the service behind it. */
export const GATEWAY_FAULTS = [
  /** For a while all requests are answered 503, some with a pause that is asked for. */
  'outage',
  /** 429 with a pause that is asked for. */
  'limit',
  /** The first `/system` after a login does not show it yet. */
  'blind',
] as const;
type GatewayFault = (typeof GATEWAY_FAULTS)[number];

interface GatewayOptions {
  seed: number;
  /** Of a thousand requests so many begin an outage, and so many are limited. */
  outages: number;
  limits: number;
  /** Milliseconds of an outage, at the most. */
  longestOutageMs: number;
}

interface Answered {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

const PAUSE = { 'Retry-After': '1' };
/** Milliseconds: that, and what a client adds to it. */
const LONGEST_PAUSE = 1_500;
/** Among the first requests that are disturbed, so many, one begins an outage: by chance alone some runs have none. */
const SURELY_OUT = 100;

/** Stands in front of a service and answers in its place now and then, by chance but repeatably. What it answers goes no further. */
export class StumblingGateway extends LocalServer {
  readonly counts: Record<GatewayFault, number> = { outage: 0, limit: 0, blind: 0 };
  readonly #agent = new Agent({ keepAlive: true });
  /** The cookie of the service, by the one that a client has instead; with rotation the newest alone. */
  readonly #cookies = new Map<string, string>();
  /** Sessions whose login has not been seen yet. */
  readonly #unseen = new Set<string>();
  readonly #surelyOutAt: number;
  #turn = 0;
  #disturbed = 0;
  #isDisturbing = false;
  #rotates = false;
  #outUntil = 0;
  #askedUntil = 0;

  readonly #choice: SeededChoice;

  private constructor(
    server: Server,
    private readonly target: URL,
    private readonly options: GatewayOptions,
  ) {
    super(server);
    this.#choice = new SeededChoice(options.seed);
    this.#surelyOutAt = 1 + this.#choice.below(SURELY_OUT);
    server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
      // One that is cut off by either side has no answer.
      this.#serve(incoming, response).catch(() => response.destroy());
    });
  }

  static start(target: string, options: GatewayOptions): Promise<StumblingGateway> {
    return new StumblingGateway(createServer(), new URL(target), options).listening();
  }

  disturb(): void {
    this.#isDisturbing = true;
  }

  /** From now on each answer of a session brings a cookie that makes the one before invalid. */
  rotate(): void {
    this.#rotates = true;
  }

  /** @returns the milliseconds until the last pause is over that was asked for */
  calm(): number {
    this.#isDisturbing = false;
    this.#outUntil = 0;
    return Math.max(0, this.#askedUntil - performance.now());
  }

  override async close(): Promise<void> {
    await super.close();
    this.#agent.destroy();
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = await buffer(incoming);
    const fault = this.#draw();
    if (fault !== undefined) {
      response.writeHead(fault.status, fault.headers).end();
      return;
    }
    const own = /sid=([^;]*)/.exec(incoming.headers.cookie ?? '')?.[1] ?? '';
    const answer = await this.#forward(incoming, this.#cookies.get(own), asked);
    const session = this.#sessionAfter(answer, own);
    const body = this.#bodyFor(incoming, answer, own);
    const { 'set-cookie': _cookie, 'content-length': _length, ...headers } = answer.headers;
    if (session !== own) headers['set-cookie'] = [`sid=${session}; Path=/`];
    response.writeHead(answer.status, { ...headers, 'content-length': body.length }).end(body);
  }

  #draw(): { status: number; headers: Record<string, string> } | undefined {
    if (!this.#isDisturbing) return undefined;
    const { outages, limits, longestOutageMs } = this.options;
    const now = performance.now();
    this.#disturbed += 1;
    const isChosen = this.#choice.below(1_000) < outages || this.#disturbed === this.#surelyOutAt;
    if (now > this.#outUntil && isChosen) {
      this.counts.outage += 1;
      this.#outUntil = now + 1 + this.#choice.below(longestOutageMs);
    }
    if (now < this.#outUntil) return { status: 503, headers: this.#choice.below(4) === 0 ? PAUSE : {} };
    if (this.#choice.below(1_000) >= limits) return undefined;
    this.counts.limit += 1;
    this.#askedUntil = now + LONGEST_PAUSE;
    return { status: 429, headers: PAUSE };
  }

  #forward(incoming: IncomingMessage, cookie: string | undefined, body: Buffer): Promise<Answered> {
    const { hostname, port, host } = this.target;
    const { method, url: path } = incoming;
    const { cookie: _own, ...others } = incoming.headers;
    const headers = { ...others, host, ...(cookie !== undefined && { cookie }) };
    return new Promise((resolve, reject) => {
      const onward = request({ hostname, port, path, method, headers, agent: this.#agent }, (answer) => {
        buffer(answer).then(
          (body) => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body }),
          reject,
        );
      });
      onward.on('error', reject);
      onward.end(body);
    });
  }

  /** The cookie that the client has from now on, as it was where none is new. */
  #sessionAfter({ headers }: Answered, own: string): string {
    const [given] = headers['set-cookie'] ?? [];
    const real = given === undefined ? undefined : given.slice(0, given.search(/;|$/));
    const kept = this.#cookies.get(own);
    if (real === undefined && !(this.#rotates && kept !== undefined)) return own;
    if (real === undefined) this.#cookies.delete(own);
    this.#turn += 1;
    const session = `turn-${this.#turn}`;
    this.#cookies.set(session, real ?? kept ?? '');
    if (real !== undefined) this.#unseen.add(session);
    return session;
  }

  #bodyFor({ url }: IncomingMessage, { body }: Answered, own: string): Buffer {
    const isUnseen = url?.endsWith('/system') === true && this.#unseen.delete(own);
    if (!isUnseen || !this.#isDisturbing) return body;
    this.counts.blind += 1;
    return Buffer.from(body.toString('utf8').replace('"rel/devices"', '"rel/hidden"'));
  }
}
