import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import type { AnswerFault } from './faults';
import type { Peer } from './peer';
import { ProtocolError, RequestParser, type Incoming, type RtspRequest } from './protocol/request-parser';
import { formatResponse } from './protocol/response';
import { resetSocket } from './protocol/reset-socket';
import type { Reply, RtspService } from './service';
import type { RtspSession } from './session';

/** A client that sends ahead of its answers is given up beyond this many requests. */
const MAX_WAITING_REQUESTS = 64;
/** A client that asks and never reads its answers is given up beyond this. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
const OVERSIZE_LENGTH = 4 * 1024 * 1024 * 1024;

/** Faults that change the text of an answer. */
const SPOIL: Partial<Record<AnswerFault['kind'], (answer: string) => string>> = {
  garbage: (answer) => answer.replace(/^.*/, '\u0007!? 2OO yes'),
  'wrong-cseq': (answer) => answer.replace(/^CSeq: \d+/m, 'CSeq: 4294967295'),
  'no-content-length': (answer) => answer.replace(/Content-Length: \d+\r\n/, ''),
  'oversize-content-length': (answer) => answer.replace(/(Content-Length: )\d+/, `$1${OVERSIZE_LENGTH}`),
};

/** One RTSP connection: requests in their order, answers with their `CSeq`, and the sessions it carries. */
export class Connection implements Peer {
  readonly socket: Socket;
  readonly #service: RtspService;
  readonly #parser = new RequestParser();
  readonly #ended = new AbortController();
  readonly #channels = new Map<number, RtspSession>();
  readonly #waiting: RtspRequest[] = [];
  #busy = false;
  readonly #steady: () => number;
  #lastSign: number;

  /** `steady` = milliseconds of a clock that never jumps. */
  constructor(socket: Socket, service: RtspService, steady: () => number) {
    this.socket = socket;
    this.#service = service;
    this.#steady = steady;
    this.#lastSign = steady();
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end());
  }

  /** True where the client has asked nothing for `seconds` and the connection carries no stream. */
  idleFor(seconds: number): boolean {
    return this.#channels.size === 0 && this.#steady() - this.#lastSign > seconds * 1000;
  }

  /** When the client has last asked for something, by the steady clock. */
  get lastSign(): number {
    return this.#lastSign;
  }

  close(): void {
    this.socket.destroy();
  }

  carry(session: RtspSession, channels: readonly [number, number]): void {
    if (this.socket.destroyed) session.end();
    for (const channel of channels) this.#channels.set(channel, session);
    session.whenEnded(() => this.#release(session));
  }

  freeChannels(wanted?: readonly [number, number]): readonly [number, number] {
    if (wanted !== undefined && wanted.every((channel) => !this.#channels.has(channel))) return wanted;
    let first = 0;
    while (first < 254 && (this.#channels.has(first) || this.#channels.has(first + 1))) first += 2;
    return [first, first + 1];
  }

  #release(session: RtspSession): void {
    for (const [channel, carried] of this.#channels) if (carried === session) this.#channels.delete(channel);
  }

  #take(chunk: Buffer): void {
    try {
      for (const incoming of this.#parser.push(chunk)) this.#accept(incoming);
    } catch (error) {
      this.#refuse(error instanceof ProtocolError ? error.status : 500);
      return;
    }
    if (this.#waiting.length > MAX_WAITING_REQUESTS) this.socket.destroy();
    else if (!this.#busy) void this.#work();
  }

  #accept(incoming: Incoming): void {
    if (incoming.kind === 'interleaved') {
      this.#channels.get(incoming.channel)?.touch();
      return;
    }
    this.#lastSign = this.#steady();
    this.#waiting.push(incoming);
  }

  #refuse(status: number): void {
    this.socket.removeAllListeners('data');
    this.socket.end(formatResponse({ status, headers: { Connection: 'close' } }, undefined));
    // The rest of what the client says is not read: without this the connection would wait for its end.
    this.socket.destroySoon();
  }

  async #work(): Promise<void> {
    this.#busy = true;
    for (let request = this.#waiting.shift(); request !== undefined; request = this.#waiting.shift()) {
      const reply = await this.#service.answer(request, this).catch(() => internalError());
      await this.#send(request, reply).catch(() => this.socket.destroy());
    }
    this.#busy = false;
  }

  async #send(request: RtspRequest, { response, faults }: Reply): Promise<void> {
    for (const fault of faults) {
      if (fault.kind === 'silent') return;
      if (fault.kind === 'slow') await delay(fault.ms, undefined, { signal: this.#ended.signal });
      if (fault.kind === 'reset') {
        resetSocket(this.socket);
        return;
      }
    }
    if (!this.socket.writable) return;
    if (this.socket.writableLength > MAX_UNREAD_BYTES) {
      this.socket.destroy();
      return;
    }
    this.socket.write(spoil(formatResponse(response, request.headers.get('cseq')), faults));
    response.afterwards?.();
  }

  #end(): void {
    this.#ended.abort();
    this.#waiting.length = 0;
    for (const session of new Set(this.#channels.values())) session.end();
  }
}

function internalError(): Reply {
  return { response: { status: 500 }, faults: [] };
}

function spoil(answer: string, faults: readonly AnswerFault[]): string {
  return faults.reduce((text, fault) => SPOIL[fault.kind]?.(text) ?? text, answer);
}
