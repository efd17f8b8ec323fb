import type { RvmError } from '../error';
import { Operation } from './operation';

/** Milliseconds that shared work has for what fails, also where those who wait for it have less time left. */
const OWN_PATIENCE = 10_000;

/**
 * Work that several operations wait for. None of them can cancel it for all, and none ends it with its own deadline: it tries as
 * long as the most patient of them, and, where nobody waits any more, each of its requests for ten seconds.
 */
export class SharedOperation extends Operation {
  readonly #joined = new Set<Operation>();
  #isPatient: boolean;
  #until: number;
  #lastSuccess = performance.now();
  #failure: { readonly error: RvmError; readonly againAt: number } | undefined;

  /** @param starter its requests are counted for this one */
  constructor(starter: Operation) {
    super({ isProbe: starter.isProbe }, { tally: starter.tally });
    this.#isPatient = !starter.once;
    this.#until = starter.until;
  }

  override get once(): boolean {
    return !this.#isPatient;
  }

  override get until(): number {
    return Math.max(this.#until, this.#lastSuccess + OWN_PATIENCE);
  }

  /** Waits for the work, but no longer than this operation does, and knows what it waits for. */
  async join<T>(operation: Operation, work: Promise<T>): Promise<T> {
    this.#joined.add(operation);
    this.#isPatient ||= !operation.once;
    this.#until = Math.max(this.#until, operation.until);
    if (this.#failure !== undefined) tell(operation, this.#failure);
    try {
      return await operation.waitFor(work);
    } finally {
      this.#joined.delete(operation);
    }
  }

  override mayWait(error: RvmError, ms: number): boolean {
    // Where it ends with this, those who wait hear of it by that: whoever comes then shall find no work that is about to fail.
    if (!super.mayWait(error, ms)) return false;
    this.#failure = { error, againAt: performance.now() + ms };
    for (const operation of this.#joined) tell(operation, this.#failure);
    return true;
  }

  override goesOn(): void {
    this.#failure = undefined;
    this.#lastSuccess = performance.now();
    for (const operation of this.#joined) operation.goesOn();
  }
}

/** Who has no time for that fails at once; the others wait. */
function tell(operation: Operation, { error, againAt }: { error: RvmError; againAt: number }): void {
  const ms = Math.max(0, againAt - performance.now());
  if (!operation.mayWait(error, ms)) operation.abandon(error);
}
