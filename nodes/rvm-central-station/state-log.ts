import type { Node, NodeAPI } from 'node-red';
import type { StationState } from '../../lib/cloud/session/service-health';
import type { RvmError } from '../../lib/error';

/** Tells the log of each change in what a Central Station can reach, once: a machine without an editor has nothing else. */
export class StateLog {
  /** The trouble that stands in the log: out of reach, or the code of a refusal. */
  #trouble: string | undefined;
  #isOld = false;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
  ) {}

  hear(state: StationState): void {
    // Out of reach is one trouble, whatever it shows in.
    if (state.kind === 'offline') this.#tell(state.kind, state.error);
    if (state.kind === 'refused') this.#tell(state.error.code, state.error);
    if (state.kind !== 'connected' || this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.node.log(this.RED._('rvm-central-station.log.connectedAgain'));
  }

  /** @param error why the list of cameras could not be refreshed, undefined where it was */
  refreshed(error: RvmError | undefined): void {
    const isOld = error !== undefined && error.code !== 'CANCELLED';
    if (isOld && !this.#isOld && this.#trouble === undefined) {
      this.node.warn(this.RED._('rvm-central-station.log.oldList', { reason: error.message }));
    }
    this.#isOld = isOld;
  }

  /** @param error why what was learned of the cameras cannot be kept for the next run */
  hintsNotKept(error: NodeJS.ErrnoException): void {
    const code = error.code ?? 'unknown error';
    this.node.warn(this.RED._('rvm-central-station.log.hintsNotKept', { code }));
  }

  #tell(trouble: string, { code, message }: RvmError): void {
    if (trouble === this.#trouble || code === 'CANCELLED') return;
    this.#trouble = trouble;
    this.node.warn(message);
  }
}
