import { CancelToken } from '../concurrency/signals';
import { jsonOf } from '../message/body';
import { type EventMessage, messageOf } from '../message/event-message';
import type { DeadLetter, ProvenMessage } from '../message/record';
import { ClockGuard, judge, recordOf } from './judge';
import { acceptanceProblem, endpointProblem, type Problem, toldReason } from './problem';
import type { ProofResult, RawMessage } from './proof/authenticate';
import { proofThread, type ProofThread } from './proof/proof-thread';
import { readyStations, type ReceivingStation } from './proof/receiving-station';
import { Prover } from './prover';
import type { AnswerName } from './receiver';
import type { Reporter } from './reporter';
import { BODY_LIMIT, checkHead, type RequestHead } from './request';

/** A request that another handler has received. */
export interface RequestParts {
  head: RequestHead;
  /** Values of all `Authorization` lines. */
  authorization: readonly string[];
  /** The exact bytes; undefined where an earlier handler has replaced them. */
  body: Uint8Array | undefined;
  remoteAddress?: string | undefined;
}

/** The result for a request. `answer`: the answer that the receiver would send. */
export type Reception =
  | { outcome: 'authentic'; answer: AnswerName; msg: EventMessage }
  /** Not proven, or proven and unusable. */
  | { outcome: 'refused'; answer: AnswerName; problem: Problem }
  /** Cannot be judged: there is no usable phrase, or the exact bytes are lost. */
  | { outcome: 'undecided'; problem: Problem };

export interface StatelessReceiverOptions {
  id: string;
  /** Key of the station of this process that an Agent User belongs to. */
  stationOfAgentUser: (agentUserId: string) => string | undefined;
  /** Called with a phrase that came in clear text. */
  reporter: Reporter;
  /** Wall clock, in milliseconds. */
  now: () => number;
  /** Monotonic clock, in milliseconds. */
  monotonic: () => number;
  /** Proves large bodies. Default: the thread of the process. */
  proofThread?: ProofThread;
}

/**
 * The receiver without an inbox, for requests that another handler receives and answers. It applies the same rules, and stores
 * nothing. `Prover` finds the sender of the bytes, and `judge` reads the message.
 */
export class StatelessReceiver {
  readonly #clockGuard: ClockGuard;
  readonly #proofs: Prover;

  constructor(private readonly options: StatelessReceiverOptions) {
    this.#clockGuard = new ClockGuard(options.now, options.monotonic);
    this.#proofs = new Prover(options.proofThread ?? proofThread);
  }

  /**
   * Judges a request as the receiver would, without storing it. Events of one alarm leave in order of receipt.
   * @param station undefined where there is none
   */
  async receive(request: RequestParts, station: ReceivingStation | undefined): Promise<Reception> {
    const { body, head, authorization } = request;
    const received = new Date(this.options.now());
    const problem = problemOf(request, station, received);
    const stations = readyStations(station && [station]).ready;
    if (stations.length === 0) return { outcome: 'undecided', problem: { ...problem, kind: 'blocked' } };
    const refusal = checkHead(head, BODY_LIMIT);
    if (refusal !== undefined) return refused(refusal, { ...problem, reason: refusal });
    if (body === undefined)
      return { outcome: 'undecided', problem: { ...problem, reason: 'raw-body-missing' } };
    if (body.length > BODY_LIMIT) return refused('large', { ...problem, reason: 'large' });

    const message = { body, authorization, json: jsonOf(body) };
    const posted = { request, message, received, problem };
    const atOnce = this.#proofs.proveInline(message, stations);
    if (atOnce !== undefined) return this.#decide(posted, atOnce);
    const { id } = this.options;
    const proof = await this.#proofs.proveInWorker(id, message, stations, new CancelToken());
    // The worker failed, so the main thread proves the message, which takes longer. This request cannot be
    // cut, so without a proof the message would be lost.
    const authentication = 'fault' in proof ? this.#proofs.prove(message, stations) : proof.authentication;
    // In a later turn of the event loop, when the caller has this result: later messages of the alarm then
    // follow it.
    return this.#decide(posted, authentication).finally(() => setImmediate(proof.decided));
  }

  async #decide(
    { request, message, received, problem }: Judgeable,
    authentication: ProofResult,
  ): Promise<Reception> {
    const { id, reporter } = this.options;
    const origin = { received, remoteAddress: request.remoteAddress };
    const context = { endpoint: this.options, origin, clockGuard: this.#clockGuard };
    const judgement = judge(message, authentication, context);
    if (judgement.kind === 'unauthentic') {
      if (judgement.leaked !== undefined) reporter.leaked(judgement.leaked);
      return refused('unauthentic', { ...problem, reason: toldReason(judgement.reason, message.body) });
    }
    const earlier = this.#proofs.proven(id, message, judgement);
    if (earlier !== undefined) await earlier;
    return provenReception(recordOf(judgement), received, problem);
  }
}

/** A request that is ready to be judged. */
interface Judgeable {
  request: RequestParts;
  message: RawMessage;
  received: Date;
  /** The problem to report if nothing proves it. */
  problem: Problem;
}

/** The problem of an unproven request. */
function problemOf(
  { body, remoteAddress }: RequestParts,
  station: ReceivingStation | undefined,
  received: Date,
): Problem {
  return endpointProblem(station, {
    kind: 'unauthentic',
    receivedTime: received.toISOString(),
    ...(remoteAddress !== undefined && { remoteAddress }),
    ...(body !== undefined && { bytes: body.length }),
  });
}

function refused(answer: AnswerName, problem: Problem): Reception {
  return { outcome: 'refused', answer, problem };
}

/** @param unproven the problem from before the proof, which has the length of the body */
function provenReception(record: ProvenMessage | DeadLetter, received: Date, unproven: Problem): Reception {
  if (record.kind === 'event')
    return { outcome: 'authentic', answer: 'accepted', msg: eventMessage(record, received) };
  const { bytes } = unproven;
  const problem = acceptanceProblem(record, { outcome: 'new' });
  return refused('accepted', { ...unproven, ...problem, ...(bytes !== undefined && { bytes }) });
}

/** Earlier messages are not stored, so each is the first of its alarm, and its first attempt. */
function eventMessage(message: ProvenMessage, now: Date): EventMessage {
  const outgoing = { message, deliveryId: null, sequence: null, attempt: 1, first: true, ended: false };
  return messageOf(outgoing, now).msg;
}
