import type { Node, NodeAPI } from 'node-red';
import type { StationState } from '../../lib/cloud/station-client';
import type { RvmError } from '../../lib/error';

/** Logs each change in the reachability of a Central Station once: a machine without an editor shows it nowhere else. */
export class SessionLog {
  /** The trouble that was logged last: `offline`, or the code of a refusal. */
  #trouble: string | undefined;
  #isOld = false;
  readonly #versions = new Set<string | undefined>();

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    /** Name of the Central Station. */
    private readonly name: string,
  ) {}

  /** @param isUnasked true where the version of the service lies outside of the requested range */
  hear(state: StationState, isUnasked = false): void {
    // All ways of being offline count as one trouble.
    if (state.kind === 'offline') this.#logChange(state.kind, state.error);
    if (state.kind === 'refused') this.#logChange(state.error.code, state.error);
    if (state.kind !== 'connected') return;
    if (this.#trouble !== undefined) this.node.log(this.#say('connectedAgain'));
    this.#trouble = undefined;
    if (state.version === undefined || isUnasked) this.#logVersion(state.version);
  }

  /** @param error why the list of cameras could not be refreshed; undefined after success */
  refreshed(error: RvmError | undefined): void {
    const isOld = error !== undefined && error.code !== 'CANCELLED';
    if (isOld && !this.#isOld && this.#trouble === undefined)
      this.node.warn(this.#say('oldList', { reason: error.message }));
    this.#isOld = isOld;
  }

  /** @param error why the camera hints cannot be stored for the next run */
  hintsNotKept({ code = 'unknown error' }: NodeJS.ErrnoException): void {
    this.node.warn(this.#say('hintsNotKept', { code }));
  }

  /** Logs each of them once. No other fault comes of it, so all continues (rule T-09). */
  #logVersion(version: string | undefined): void {
    if (this.#versions.has(version)) return;
    this.#versions.add(version);
    const text = version === undefined ? 'noVersion' : 'unaskedVersion';
    this.node.warn(this.#say(text, { name: this.name, version: version ?? '' }));
  }

  #logChange(trouble: string, { code, message }: RvmError): void {
    if (trouble === this.#trouble || code === 'CANCELLED') return;
    this.#trouble = trouble;
    this.node.warn(message);
  }

  #say(text: string, values?: Record<string, string>): string {
    return this.RED._(`rvm-central-station.log.${text}`, values);
  }
}
