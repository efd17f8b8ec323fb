import type { Node, NodeStatus } from 'node-red';

/** Between two statuses, in milliseconds. */
const SHOW_EVERY = 250;

/** The status of a node, as often as it is worth to be looked at: a hundred events in a second are one change of it. */
export class ShownStatus {
  #timer: NodeJS.Timeout | undefined;
  #shownAt = -Infinity;

  constructor(
    private readonly node: Node,
    private readonly current: () => NodeStatus,
  ) {}

  showSoon(): void {
    const wait = this.#shownAt + SHOW_EVERY - performance.now();
    if (wait <= 0) return this.show();
    this.#timer ??= setTimeout(() => this.show(), wait);
  }

  show(): void {
    this.close();
    this.#shownAt = performance.now();
    this.node.status(this.current());
  }

  /** Shows nothing more that was to come soon. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
