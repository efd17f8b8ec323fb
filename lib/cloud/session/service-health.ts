import { RvmError } from '../../error';
import type { Answer } from '../http/answer';
import type { RateLimits } from '../http/rate-limits';
import type { ServiceRequest } from '../http/transport';
import { DIALECT } from '../dialect';
import type { Operation } from '../operation';
import type { StationTiming } from '../timing';
import { Circuit } from './circuit';
import { ServiceClock } from './service-clock';
import type { StateBoard } from './station-state';

/** Failures of these say something about the whole service, not about one camera. */
const CENTRAL: ReadonlySet<string> = new Set(['system', DIALECT.relations.devices]);
/** Failures of a request that got no answer; the attempts are 0 where it was not sent. */
const NO_ANSWER: ReadonlySet<string> = new Set(['NETWORK', 'TLS', 'TIMEOUT']);
/** Failures that an answer of the service has caused: it lives. */
const ALIVE: ReadonlySet<string> = new Set(['HTTP_ERROR', 'RATE_LIMITED']);
/** Failures of a System resource that only others can cure. */
const UNUSABLE: ReadonlySet<string> = new Set([
  'BAD_RESPONSE',
  'INCOMPATIBLE_VERSION',
  'VERSION_NOT_REQUESTED',
  'UNTRUSTED_LINK',
]);
/** Answers of a gateway that does not reach the service behind it. */
const OUTAGES: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * What the requests of a Central Station tell of the service: it answers, is out of reach, or lets us in no more. The circuit
 * and the state that the nodes show follow from that.
 */
export class ServiceHealth {
  readonly #circuit: Circuit;
  readonly #board: StateBoard;
  readonly #limits: RateLimits;
  readonly #clock = new ServiceClock();
  #offlineSince: Date | undefined;

  /** @param probe asks the service for a sign of life; rejects where there is none */
  constructor(
    board: StateBoard,
    limits: RateLimits,
    timing: StationTiming,
    probe: (operation: Operation) => Promise<void>,
  ) {
    this.#board = board;
    this.#limits = limits;
    this.#circuit = new Circuit(timing, probe);
  }

  /** Milliseconds that the clock of the service is ahead of that of this machine; undefined where no answer has told. */
  get clockAhead(): number | undefined {
    return this.#clock.ahead;
  }

  /** Whether nothing is to be sent but probes. */
  get isOut(): boolean {
    return this.#circuit.isOpen;
  }

  /**
   * Waits until something may be sent: undefined where it may now.
   * @throws RvmError what stands against it, where that is not waited for
   */
  whenBack(operation: Operation): Promise<void> | undefined {
    return this.#circuit.whenClosed(operation);
  }

  loggingIn(): void {
    this.#board.loggingIn();
  }

  loginCancelled(): void {
    this.#board.idle();
  }

  /**
   * The service has answered, to a session that is good.
   * @param version the one it chose; undefined where it named none
   */
  reachable(version: string | undefined): void {
    this.#circuit.succeeded();
    this.#offlineSince = undefined;
    this.#board.connected(version);
  }

  /**
   * Hears the answer to a request that was sent.
   * @returns false where it is that of a gateway that does not reach the service
   */
  answered(wanted: ServiceRequest, answer: Answer): boolean {
    const error = OUTAGES.has(answer.status) ? answer.statusError() : undefined;
    if (error === undefined) this.#clock.note(answer.headers);
    if (error?.code !== 'HTTP_ERROR') return true;
    this.#unanswered(wanted, error);
    return false;
  }

  /** Hears why a request that was sent has no answer. */
  failed(wanted: ServiceRequest, error: unknown): void {
    if (!(error instanceof RvmError) || !NO_ANSWER.has(error.code) || error.cause.attempts === 0) return;
    this.#unanswered(wanted, error);
  }

  /** Hears that nobody waits any more for the answer to a request that was sent: a probe tells what that means. */
  doubted(error: unknown): void {
    if (error instanceof RvmError && NO_ANSWER.has(error.code)) this.#circuit.doubted(error);
  }

  /** Hears why the System resource could not be had: one that cannot be used opens the circuit at once. */
  systemFailed(error: RvmError): void {
    if (UNUSABLE.has(error.code)) this.giveUp(error);
  }

  /** Opens the circuit at once, for as long as the service has asked to wait. */
  giveUp(error: RvmError): void {
    this.#circuit.open(error, this.#limits.against({ relation: error.cause.relation ?? '' })?.ms);
    this.#unreachable(error);
  }

  /** Ends all probing. */
  close(): void {
    this.#circuit.close();
  }

  /** Of the resources of a camera it may be the camera that does not answer. */
  #unanswered({ relation }: ServiceRequest, error: RvmError): void {
    if (!CENTRAL.has(relation)) {
      this.#circuit.doubted(error);
      return;
    }
    this.#circuit.failed(error);
    this.#unreachable(error);
  }

  #unreachable(error: RvmError): void {
    this.#offlineSince ??= new Date();
    this.#board.failed(error, this.#offlineSince);
  }
}

/** True for a failure that is an answer of the service itself: it lives. */
export function isSignOfLife(error: RvmError): boolean {
  return ALIVE.has(error.code) && !OUTAGES.has(error.cause.status ?? 0);
}
