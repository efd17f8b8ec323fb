import type { Socket } from 'node:net';
import { lenientTimeout, clampTimerMs, withTimeout } from '../../concurrency/timers';
import type { RvmError } from '../../error';
import type { Login } from '../../text';
import { Authentication } from './authentication';
import { sessionIn } from './headers';
import { type RelayFaults, STREAM_FAULTS, type StreamLimits } from './limits';
import { type Answer, type Incoming, MessageParser, type ServerRequest } from './messages';

/** Bytes that may wait in the socket: a relay that does not read gets no more packets. */
const MOST_UNREAD = 64 * 1024;
/** Bytes of packets that may arrive before a listener is set. */
const MOST_EARLY = 1024 * 1024;
/** Bytes of memory per such packet, in addition to its data. */
const EARLY_COST = 256;
/** Requests by which a server finds out whether the client is alive. */
const SIGNS_OF_LIFE: readonly string[] = ['OPTIONS', 'GET_PARAMETER'];

interface Listener {
  /** @param data valid until the callback returns */
  packet: (channel: number, data: Buffer) => void;
  /** @param inOrder whether the server closed the connection with no message or packet incomplete */
  ended: (fault: RvmError, inOrder: boolean) => void;
}

interface Pending {
  resolve: (answer: Answer) => void;
  reject: (error: RvmError) => void;
  timer: NodeJS.Timeout;
}

interface Ending {
  fault: RvmError;
  inOrder: boolean;
}

const UNAUTHORIZED = 401;
/** Authentications per request: a nonce may be stale, and the next one once more during the retry. */
const MOST_PROOFS = 2;

/**
 * One RTSP connection with its session: requests, each with the login and session id that it needs, answers, and the packets
 * between them. No input makes it throw.
 */
export class RtspClient {
  /** URL of requests for the whole session. */
  url = '';
  /** Seconds without a sign of life after which the server ends the session. */
  timeout = 0;
  /** Methods of the server by its last `Public`; empty where it has sent none. */
  methods: readonly string[] = [];
  readonly #parser: MessageParser;
  readonly #authentication: Authentication;
  readonly #pending = new Map<number, Pending>();
  #lastNumber = 0;
  #id: string | undefined;
  #listener: Listener | undefined;
  #early: { channel: number; data: Buffer }[] = [];
  #earlyBytes = 0;
  #ending: Ending | undefined;

  /** @param socket that is connected */
  constructor(
    private readonly socket: Socket,
    private readonly limits: StreamLimits,
    private readonly faults: RelayFaults,
    login?: Login,
  ) {
    this.#parser = new MessageParser(limits);
    this.#authentication = new Authentication(login);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('end', () => this.#end(faults.brokenOff(), this.#parser.isBetweenMessages));
    socket.on('error', () => this.#end(faults.brokenOff()));
    socket.on('close', () => this.#end(faults.brokenOff()));
  }

  /** Reports all packets, those that arrived earlier included, and the end. There is one listener. */
  listen(listener: Listener): void {
    this.#listener = listener;
    for (const { channel, data } of this.#early.splice(0)) listener.packet(channel, data);
    if (this.#ending !== undefined) listener.ended(this.#ending.fault, this.#ending.inOrder);
  }

  /** Announces the channels of the stream: stray bytes between their packets are then skipped. */
  expect(channels: Iterable<number>): void {
    this.#parser.expect(channels);
  }

  /**
   * Sends a request and waits for its answer, whatever the status. After the end of the connection the request rejects, but is
   * still sent if possible, for TEARDOWN.
   * @param headers beyond `CSeq` and those of login and session
   * @param ms timeout of the answer in milliseconds
   * @throws RvmError of `RelayFaults`: no answer in time, unreadable data, the end of the connection
   */
  async ask(
    method: string,
    url: string,
    headers: Readonly<Record<string, string>> = {},
    ms = this.limits.answerMs,
  ): Promise<Answer> {
    for (let proofs = 0; ; proofs += 1) {
      const answer = await this.#request(method, url, headers, ms);
      if (answer.status !== UNAUTHORIZED) return this.#noted(answer);
      const isWorthIt =
        proofs < MOST_PROOFS && this.#authentication.takes(answer.headers.all('www-authenticate'));
      if (!isWorthIt) return answer;
    }
  }

  /** Sends binary data; drops it while the relay does not read earlier data. */
  sendPacket(channel: number, data: Buffer): void {
    if (this.socket.writableLength > MOST_UNREAD) return;
    this.#send(Buffer.concat([Buffer.from([0x24, channel, data.length >>> 8, data.length & 0xff]), data]));
  }

  /** Nothing is read until `resume`. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /**
   * Sends TEARDOWN, if there is a session, and closes the connection. Pending requests fail. Never fails itself.
   * @param ms timeout of the answer in milliseconds
   */
  async end(ms: number): Promise<void> {
    if (this.#id !== undefined) {
      this.resume();
      await withTimeout(
        this.ask('TEARDOWN', this.url).catch(() => undefined),
        ms,
      );
    }
    this.socket.destroy();
    this.#end(this.faults.brokenOff());
  }

  #request(
    method: string,
    url: string,
    headers: Readonly<Record<string, string>>,
    ms: number,
  ): Promise<Answer> {
    const number = ++this.#lastNumber;
    const authorization = this.#authentication.authorization(method, url);
    const all = {
      CSeq: String(number),
      ...headers,
      ...(this.#id !== undefined && { Session: this.#id }),
      ...(authorization !== undefined && { Authorization: authorization }),
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return new Promise((resolve, reject) => {
      this.#send(`${method} ${url} RTSP/1.0\r\n${lines.join('')}\r\n`);
      if (this.#ending !== undefined) return reject(this.#ending.fault);
      const timer = lenientTimeout(() => {
        this.#pending.delete(number);
        reject(this.faults.unanswered());
      }, ms);
      this.#pending.set(number, { resolve, reject, timer });
    });
  }

  #noted(answer: Answer): Answer {
    this.#authentication.accepted();
    const session = answer.status === 200 ? sessionIn(answer.headers.get('session')) : undefined;
    if (this.#id === undefined && session !== undefined) {
      this.#id = session.id;
      this.timeout = session.timeout;
    }
    const methods = answer.headers.all('public').join(',');
    if (methods !== '') this.methods = methods.split(',').map((name) => name.trim().toUpperCase());
    return answer;
  }

  #send(data: string | Buffer): void {
    if (this.socket.writable) this.socket.write(data);
  }

  #take(chunk: Buffer): void {
    if (this.#ending !== undefined) return;
    for (const incoming of this.#parser.push(chunk)) this.#handle(incoming);
    const isFlooded = this.#earlyBytes > MOST_EARLY || this.socket.writableLength > 2 * MOST_UNREAD;
    if (this.#parser.isUnreadable || isFlooded) this.#end(this.faults.unreadable());
  }

  #handle(incoming: Incoming): void {
    if (incoming.kind === 'answer') return this.#settle(incoming);
    if (incoming.kind === 'request') return this.#reply(incoming);
    const { channel, data } = incoming;
    if (this.#listener !== undefined) return this.#listener.packet(channel, data);
    // A copy: the read buffer is reused, or kept in memory by any view of it.
    this.#early.push({ channel, data: Buffer.from(data) });
    this.#earlyBytes += data.length + EARLY_COST;
  }

  #settle(answer: Answer): void {
    // 1xx: the final answer is still to come.
    if (answer.status < 200) return;
    const number = this.#numberOf(answer);
    const pending = number === undefined ? undefined : this.#pending.get(number);
    // While packets are received, an answer with a wrong number is ignored.
    if (number === undefined || number > this.#lastNumber)
      return this.#listener === undefined ? this.#end(this.faults.unreadable()) : undefined;
    // The request has timed out.
    if (pending === undefined) return;
    this.#pending.delete(number);
    clearTimeout(pending.timer);
    pending.resolve(answer);
  }

  /** An answer without a number belongs to the oldest pending request. */
  #numberOf({ headers }: Answer): number | undefined {
    const said = headers.get('cseq');
    if (said === undefined) return [...this.#pending.keys()][0] ?? 0;
    return /^\d{1,15}$/.test(said) ? Number(said) : undefined;
  }

  #reply({ method, headers }: ServerRequest): void {
    const number = headers.get('cseq');
    const status = SIGNS_OF_LIFE.includes(method) ? '200 OK' : '501 Not Implemented';
    const lines = number === undefined ? '' : `CSeq: ${number}\r\n`;
    this.#send(`RTSP/1.0 ${status}\r\n${lines}\r\n`);
  }

  /** Only the first end counts. The socket stays open for TEARDOWN. */
  #end(fault: RvmError, inOrder = false): void {
    if (this.#ending !== undefined) return;
    this.#ending = { fault, inOrder };
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(fault);
    }
    this.#pending.clear();
    this.#listener?.ended(fault, inOrder);
  }
}

const PREFERRED = 'GET_PARAMETER';
/** Every server supports this method, and most take it for a sign of life (RFC 2326, appendix D). */
const ALWAYS_KNOWN = 'OPTIONS';
const SESSION_NOT_FOUND = 454;
/** Statuses of a server that does not support a method. */
const NOT_KNOWN: readonly number[] = [400, 405, 501, 551];
/** Bounds of the interval, in milliseconds. */
const [SHORTEST, LONGEST] = [1_000, 30_000];

/** Sends a server signs of life, two in each session timeout. */
export class KeepAlive {
  readonly #timer: NodeJS.Timeout;
  #isRefused = false;

  /** @param gone called when the server no longer knows the session */
  constructor(
    private readonly session: RtspClient,
    private readonly gone: (fault: RvmError) => void,
  ) {
    const half = (session.timeout * 1000) / 2;
    this.#timer = setInterval(
      () => void this.#keepAlive(),
      clampTimerMs(Math.max(SHORTEST, Math.min(half, LONGEST))),
    );
    // The answer contains the supported methods, before the first sign of life is due.
    if (session.methods.length === 0) void this.#ask(ALWAYS_KNOWN);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #keepAlive(): Promise<void> {
    const { methods } = this.session;
    const isKnown = !this.#isRefused && (methods.length === 0 || methods.includes(PREFERRED));
    const status = await this.#ask(isKnown ? PREFERRED : ALWAYS_KNOWN);
    if (!isKnown || status === undefined || !NOT_KNOWN.includes(status)) return;
    this.#isRefused = true;
    await this.#ask(ALWAYS_KNOWN);
  }

  /** @returns the status. A missing answer is ignored: the packets show whether the server is there */
  async #ask(method: string): Promise<number | undefined> {
    const answer = await this.session.ask(method, this.session.url).catch(() => undefined);
    if (answer?.status === SESSION_NOT_FOUND) this.gone(STREAM_FAULTS.refused(SESSION_NOT_FOUND));
    return answer?.status;
  }
}
