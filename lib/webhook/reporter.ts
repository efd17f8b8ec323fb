import type { Acceptance } from '../inbox/model';
import type { DeadLetter, ProvenMessage } from '../message/record';
import { LogThrottle } from './rate-limits';
import type { Endpoint, RequestOrigin } from './endpoint';
import { acceptanceProblem, endpointProblem, type Problem, type ProblemReason } from './problem';
import { onlyStation, type ReceivingStation } from './proof/receiving-station';

/** At most one problem of a kind of refusal, and one log line of a kind, in this time. Milliseconds. */
const QUIET_PERIOD = 10_000;

/** A request with the facts that a problem or a log line may contain. */
interface DescribedRequest extends RequestOrigin {
  /** Length of its body. */
  bytes: number;
}

/** Reports to output 3 and to the log what the receiver refused or could not use, without flooding them. */
export class Reporter {
  readonly #problems: LogThrottle;
  readonly #throttle: LogThrottle;

  /** @param monotonic monotonic clock, in milliseconds */
  constructor(
    monotonic: () => number,
    private readonly writeLine: (line: string) => void,
  ) {
    this.#problems = new LogThrottle(QUIET_PERIOD, monotonic);
    this.#throttle = new LogThrottle(QUIET_PERIOD, monotonic);
  }

  /** Writes a log line, at most one of a kind in 10 s. */
  log(kind: string, line: string): void {
    const count = this.#throttle.pass(kind);
    if (count > 0) this.writeLine(count === 1 ? line : `${line} (${count} times)`);
  }

  /** Reports a phrase that a stranger may have read. */
  leaked({ key }: ReceivingStation): void {
    this.log(
      `burnt ${key}`,
      `The Shared Secret Phrase of station ${key} came over http in clear text: change it, and check that the endpoint is registered with http:// at the service.`,
    );
  }

  unauthentic(endpoint: Endpoint, reason: ProblemReason, request: DescribedRequest): void {
    this.#report(() => endpoint.onRefused?.(reason, request));
    const count = this.#problems.pass(`${endpoint.id}\n${reason}`);
    if (count === 0) return;
    const { received, remoteAddress, bytes } = request;
    const problem = endpointProblem(onlyStation(endpoint.stations()), {
      kind: 'unauthentic',
      reason,
      receivedTime: received.toISOString(),
      ...(remoteAddress !== undefined && { remoteAddress }),
      bytes,
      count,
    });
    this.#report(() => endpoint.onProblem(problem));
  }

  /**
   * Reports a message that was proven and stored, to output 3 where no output for events takes it.
   * @returns the problem that was reported
   */
  accepted(
    endpoint: Endpoint,
    record: ProvenMessage | DeadLetter,
    acceptance: Acceptance,
    bytes: number,
  ): Problem | undefined {
    const problem = acceptanceProblem(record, acceptance);
    this.#report(() => endpoint.onAccepted?.(problem, record));
    if (problem !== undefined) this.#report(() => endpoint.onProblem({ ...problem, bytes }));
    return problem;
  }

  #report(report: () => void): void {
    try {
      report();
    } catch {
      this.log('problem-consumer', 'A problem of a webhook could not be shown, because its node failed.');
    }
  }
}
