import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Acceptance, DeadLetter, ProvenMessage } from '../inbox/inbox';
import { Admission } from './admission';
import { Allowance } from './allowance';
import { answer, cut } from './answer';
import { authorizationLines } from './authorization-header';
import type { ClockGuard } from './clock-guard';
import type { Endpoint } from './endpoint';
import { holdFor, pause, within } from './hold';
import { jsonOf } from './json-reading';
import { courtOf, judge, type Judgement } from './judge';
import type { QuarantineDesk } from './quarantine-desk';
import { readRawBody } from './raw-body';
import { refusalOf } from './refusal';
import type { Reporter } from './reporter';
import { runMiddleware } from './run-middleware';
import type { Senders } from './senders';
import { judgesAmong, type Judges } from './station';
import { UnfinishedRequests } from './unfinished';

export interface ReceiverOptions {
  /** Wall clock, in milliseconds. */
  now: () => number;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
  /** Longest wait for what the receiver needs to judge, in milliseconds. */
  holdMs: number;
  /** Latest time for the inbox to have stored a message, in milliseconds; a hold counts into it. */
  commitMs: number;
  /** Longest body, in bytes. */
  bodyLimit: number;
  /** Time for a whole body, in milliseconds. */
  bodyDeadlineMs: number;
  /** Complete requests judged or stored at a time. */
  capacity: number;
  senders: Senders;
  clockGuard: ClockGuard;
  quarantine: QuarantineDesk;
  reporter: Reporter;
}

/** One of the paths that the receiver answers for. */
export interface Target {
  path: string;
  /** The endpoint of the path at this moment. */
  endpoint: () => Endpoint | undefined;
}

/** A request on its way through the receiver. */
interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
  target: Target;
}

/** A request whose body is complete. */
interface Arrived extends Exchange {
  body: Buffer;
  received: Date;
  /** Steady time at which holding ends, and at which a commit comes too late. */
  holdUntil: number;
  commitUntil: number;
}

const STORE_RETRY = 250;
/** Events are far smaller, in bytes; of larger bodies so many of a path are read in a second. */
const LARGE_BODY = 64 * 1024;
const LARGE_BODIES_PER_SECOND = 2;
/** Memory for bodies that are still on their way, and for those of one path that wait or are judged, in bytes. */
const BODY_BYTES = 32 * 1024 * 1024;

/**
 * The answer policy: 200 once the event is stored, 401 for what is not proven, and no answer at all while it can neither
 * judge nor store, because only that makes the service send again (specification, section 6).
 */
export class Receiver {
  /** By path. */
  readonly #admissions = new Map<string, Admission>();
  readonly #unfinished: UnfinishedRequests;
  readonly #largeBodies: Allowance;
  #closed = false;

  constructor(private readonly options: ReceiverOptions) {
    this.#largeBodies = new Allowance(LARGE_BODIES_PER_SECOND, options.steady);
    this.#unfinished = new UnfinishedRequests({
      maxHeld: BODY_BYTES,
      isShared: (address) => options.senders.isShared(address),
      steady: options.steady,
      onCut: () =>
        options.reporter.log(
          'unfinished',
          'A webhook request that did not come to its end was cut, to make room for others.',
        ),
    });
  }

  /** Deals with a request on a webhook path, to its end. */
  receive(req: IncomingMessage, res: ServerResponse, target: Target): void {
    if (this.#closed) return cut(req);
    const refusal = refusalOf(req, this.options.bodyLimit);
    if (refusal === 'large') this.#logLarge(req, `declared ${req.headers['content-length'] ?? ''}`);
    if (refusal !== undefined) return answer(req, res, refusal);
    this.#read({ req, res, target }).catch(() => {
      this.#giveUp(req, 'it could not be dealt with');
    });
  }

  /** Gives up what is held, and cuts what comes from now on; a message that is being stored still has its answer. */
  close(): void {
    this.#closed = true;
  }

  async #read(exchange: Exchange): Promise<void> {
    const { req, res, target } = exchange;
    const { bodyLimit, bodyDeadlineMs } = this.options;
    const unfinished = this.#unfinished.add(req.socket, this.#senderOf(req));
    const limits = { bytes: bodyLimit, deadline: bodyDeadlineMs };
    const reading = await readRawBody(req, limits, (held) => this.#unfinished.grow(unfinished, held));
    this.#unfinished.remove(unfinished);
    switch (reading.kind) {
      case 'complete':
        return this.#enter(this.#arrived(exchange, reading.body));
      case 'too-large':
        this.#logLarge(req, `over ${bodyLimit}`);
        return answer(req, res, 'large');
      case 'too-slow':
        // Not an answer, which would be the last word: a process that was busy may have let the time run out.
        return this.#giveUp(req, `its body took longer than ${bodyDeadlineMs / 1000} s`);
      case 'missing':
        return this.#missBody(req, target.endpoint());
      case 'aborted':
        // The sender has gone away in the middle: nothing is stored, and nobody is there to answer.
        return cut(req);
    }
  }

  #arrived(exchange: Exchange, body: Buffer): Arrived {
    const { now, steady, holdMs, commitMs } = this.options;
    const at = steady();
    return {
      body,
      received: new Date(now()),
      holdUntil: at + holdMs,
      commitUntil: at + commitMs,
      ...exchange,
    };
  }

  /** Takes a place only now: one that waits for the rest of its body would keep others out. */
  async #enter(arrived: Arrived): Promise<void> {
    const { req, body, holdUntil } = arrived;
    const wait = (take: () => true | undefined): Promise<true | undefined> =>
      this.#hold(req, take, holdUntil);
    const admission = this.#admissionOf(arrived.target.path);
    const isIn = await admission.admit(body.buffer.byteLength, wait, () => this.#process(arrived));
    if (!isIn) this.#giveUp(req, 'too many requests are under way');
  }

  #admissionOf(path: string): Admission {
    const known = this.#admissions.get(path);
    if (known !== undefined) return known;
    const admission = new Admission(this.options.capacity, BODY_BYTES);
    this.#admissions.set(path, admission);
    return admission;
  }

  async #process(arrived: Arrived): Promise<void> {
    const { req, res, holdUntil, commitUntil } = arrived;
    const endpoint = arrived.target.endpoint() ?? (await this.#hold(req, arrived.target.endpoint, holdUntil));
    if (endpoint === undefined) return this.#giveUp(req, 'its webhook node is not running');
    if (endpoint.middleware !== undefined) {
      const timeLeft = commitUntil - this.options.steady();
      const outcome = await runMiddleware(endpoint.middleware, { req, res }, timeLeft);
      if (outcome === 'answered') return;
      if (outcome === 'failed') return this.#giveUp(req, 'httpNodeMiddleware failed');
    }
    const look = (): Ready | undefined => readyOf(arrived.target.endpoint());
    const ready = look() ?? (await this.#hold(req, look, holdUntil));
    if (ready === undefined)
      return this.#giveUp(req, 'its webhook node cannot judge yet: see the status of the node');
    return this.#judge(arrived, ready.endpoint, ready.judges);
  }

  async #judge(arrived: Arrived, endpoint: Endpoint, judges: Judges): Promise<void> {
    const { req, res, body, received } = arrived;
    const proof = { body, authorization: authorizationLines(req.rawHeaders), json: jsonOf(body) };
    if (this.#isCostly(arrived, judges)) return this.#giveUp(req, 'too many large bodies came at a time');
    const arrival = { received, sender: this.#senderOf(req) };
    const court = courtOf(endpoint, judges.able, arrival);
    const judgement = judge(proof, { clockGuard: this.options.clockGuard, ...court });
    if (judgement.kind === 'usable') return this.#store(arrived, endpoint, judgement.message);
    if (judgement.kind === 'unusable') return this.#store(arrived, endpoint, judgement.letter);
    if (judges.waiting)
      return this.#giveUp(req, 'a station of its webhook node cannot judge yet: see the status of the node');
    answer(req, res, 'unauthentic');
    this.#refuse(arrived, endpoint, judgement);
    this.options.quarantine.keep(endpoint, proof, arrival);
  }

  /** The JSON of a body is read before anything is proven where a token may be the proof, and a large one costs time. */
  #isCostly({ body, target }: Arrived, { able }: Judges): boolean {
    const isRead = able.some(({ scheme }) => scheme === 'https');
    return isRead && body.length > LARGE_BODY && !this.#largeBodies.pass(target.path);
  }

  #refuse(arrived: Arrived, endpoint: Endpoint, judgement: Judgement & { kind: 'unauthentic' }): void {
    const { req, body, received } = arrived;
    const request = { received, bytes: body.length, remoteAddress: this.#senderOf(req) };
    this.options.reporter.unauthentic(endpoint, judgement.reason, request);
    if (judgement.burnt !== undefined) this.options.reporter.burnt(judgement.burnt);
  }

  async #store(arrived: Arrived, endpoint: Endpoint, record: ProvenMessage | DeadLetter): Promise<void> {
    const acceptance = await this.#accepted(arrived, () => endpoint.inbox.accept(record));
    if (acceptance === undefined) return this.#giveUp(arrived.req, 'the inbox could not store it in time');
    answer(arrived.req, arrived.res, 'accepted');
    this.options.reporter.accepted(endpoint, record, acceptance, arrived.body.length);
  }

  /** Tries again while the request may be held: what was stored by a try that seemed to fail is then a repeat. */
  async #accepted(arrived: Arrived, accept: () => Promise<Acceptance>): Promise<Acceptance | undefined> {
    const { steady } = this.options;
    for (;;) {
      try {
        return await within(accept(), Math.max(0, arrived.commitUntil - steady()));
      } catch {
        if (this.#closed || steady() + STORE_RETRY > arrived.holdUntil) return undefined;
        await pause(STORE_RETRY);
      }
    }
  }

  #hold<Found>(
    req: IncomingMessage,
    look: () => Found | undefined,
    until: number,
  ): Promise<Found | undefined> {
    const givenUp = (): boolean => this.#closed || req.socket.destroyed;
    return holdFor(look, { until, steady: this.options.steady, givenUp });
  }

  /** The exact bytes are gone for good, so holding would change nothing; the resend meets the same fault, visibly. */
  #missBody(req: IncomingMessage, endpoint: Endpoint | undefined): void {
    const request = {
      received: new Date(this.options.now()),
      bytes: 0,
      remoteAddress: this.#senderOf(req),
    };
    if (endpoint !== undefined) this.options.reporter.unauthentic(endpoint, 'raw-body-missing', request);
    this.#giveUp(req, 'something in front of the webhook has read its body');
  }

  #giveUp(req: IncomingMessage, why: string): void {
    const wasThere = !req.socket.destroyed;
    cut(req);
    if (wasThere && !this.#closed) {
      this.options.reporter.log(why, `A webhook request was left without an answer, because ${why}.`);
    }
  }

  #senderOf(req: IncomingMessage): string | undefined {
    return this.options.senders.addressOf(req);
  }

  #logLarge(req: IncomingMessage, size: string): void {
    const source = this.#senderOf(req) ?? 'an unknown address';
    this.options.reporter.log('large', `A webhook request from ${source} was refused: ${size} bytes.`);
  }
}

interface Ready {
  endpoint: Endpoint;
  judges: Judges;
}

/** The endpoint with the stations that can judge, once there is one. */
function readyOf(endpoint: Endpoint | undefined): Ready | undefined {
  if (endpoint === undefined) return undefined;
  const judges = judgesAmong(endpoint.stations());
  return judges.able.length === 0 ? undefined : { endpoint, judges };
}
