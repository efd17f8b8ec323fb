import type { Node, NodeStatus } from 'node-red';
import type { RvmError } from '../../lib/error';
import { failureStatus } from './status';

/**
 * What a node shows that answers messages: its own status and, in the place of that, what it is at, or why its last message
 * failed, until one succeeds: a failure that leaves by output 2 shows nowhere else. Only a red status of its own goes before, for
 * it tells what is wrong with every message.
 */
export class FailureStatus {
  #code: RvmError['code'] | undefined;
  #progress: NodeStatus | undefined;

  constructor(
    private readonly node: Pick<Node, 'status'>,
    private readonly own: () => NodeStatus,
  ) {}

  current(): NodeStatus {
    const own = this.own();
    if (own.fill === 'red') return own;
    return this.#progress ?? (this.#code === undefined ? own : failureStatus(this.#code));
  }

  show(): void {
    this.node.status(this.current());
  }

  /** What the node is at; undefined where it is at nothing. */
  progress(progress: NodeStatus | undefined): void {
    const before = this.current();
    this.#progress = progress;
    if (!isSame(before, this.current())) this.show();
  }

  /** A message has failed, or succeeded. What changes nothing is not looked at again: that costs as much as a message. */
  ended(failure: RvmError | undefined): void {
    if (failure?.code === this.#code) return;
    const before = this.current();
    this.#code = failure?.code;
    if (!isSame(before, this.current())) this.show();
  }
}

/** True where nobody could tell the one from the other. */
function isSame(one: NodeStatus, other: NodeStatus): boolean {
  return one.fill === other.fill && one.shape === other.shape && one.text === other.text;
}
