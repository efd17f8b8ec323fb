import type { Acceptance } from '../inbox/inbox';
import type { DeadLetter, ProvenMessage } from '../message/record';
import { LogThrottle } from './rate-limits';
import type { Endpoint, RequestOrigin } from './endpoint';
import { acceptanceProblem, type Problem, type ProblemReason } from './problem';
import { onlyStation, type ReceivingStation } from './proof/receiving-station';

/** At most one message about the same kind of refusal, and one log line of a kind, in this time. Milliseconds. */
const QUIET_PERIOD = 10_000;

/** A request as a problem or a log line may describe it. */
export interface DescribedRequest extends RequestOrigin {
  /** Length of its body. */
  bytes: number;
}

/** Tells output 3 and the log what the receiver refused or could not use, without flooding them. */
export class Reporter {
  readonly #problems: LogThrottle;
  readonly #lines: LogThrottle;

  /** @param steady milliseconds of a clock that never jumps */
  constructor(
    steady: () => number,
    private readonly writeLine: (line: string) => void,
  ) {
    this.#problems = new LogThrottle(QUIET_PERIOD, steady);
    this.#lines = new LogThrottle(QUIET_PERIOD, steady);
  }

  /** A line of the log, at most one of a kind in 10 s. */
  log(kind: string, line: string): void {
    const count = this.#lines.pass(kind);
    if (count > 0) this.writeLine(count === 1 ? line : `${line} (${count} times)`);
  }

  /** A phrase that a stranger may have read. */
  burnt({ key }: ReceivingStation): void {
    this.log(
      `burnt ${key}`,
      `The Shared Secret Phrase of station ${key} came over http in clear text: change it, and check that the endpoint is registered with http:// at the service.`,
    );
  }

  unauthentic(endpoint: Endpoint, reason: ProblemReason, request: DescribedRequest): void {
    this.#tell(() => endpoint.onRefused?.(reason, request));
    const count = this.#problems.pass(`${endpoint.id}\n${reason}`);
    if (count === 0) return;
    const station = onlyStation(endpoint.stations());
    this.#tell(() =>
      endpoint.onProblem({
        kind: 'unauthentic',
        reason,
        station: station?.key ?? null,
        stationName: station?.name ?? null,
        receivedTime: request.received.toISOString(),
        ...(request.remoteAddress !== undefined && { remoteAddress: request.remoteAddress }),
        bytes: request.bytes,
        count,
      }),
    );
  }

  /**
   * A message that was proven and stored: output 3 is told of one that no output for events takes.
   * @returns what it is told
   */
  accepted(
    endpoint: Endpoint,
    record: ProvenMessage | DeadLetter,
    acceptance: Acceptance,
    bytes: number,
  ): Problem | undefined {
    const problem = acceptanceProblem(record, acceptance);
    this.#tell(() => endpoint.onAccepted?.(problem, record));
    if (problem !== undefined) this.#tell(() => endpoint.onProblem({ ...problem, bytes }));
    return problem;
  }

  #tell(tell: () => void): void {
    try {
      tell();
    } catch {
      this.log('problem-consumer', 'A problem of a webhook could not be shown, because its node failed.');
    }
  }
}
