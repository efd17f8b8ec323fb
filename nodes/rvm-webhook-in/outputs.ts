import type { Node, NodeAPI, NodeMessage } from 'node-red';
import type { Delivery } from '../../lib/inbox/inbox';
import { messageOf } from '../../lib/message/event-message';
import { uncertainProblem, type Problem } from '../../lib/webhook/problem';
import { isWired } from '../support/wires';

const PROBLEMS_OUTPUT = 2;

/** What leaves a *webhook in*: its events and problems, and what of it the status tells. */
export class Outputs {
  #lastAt: Date | undefined;
  #unseenProblems = 0;

  /** @param changed told where the status may be another */
  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    private readonly changed: () => void,
  ) {}

  /** When the last event came. */
  get lastAt(): Date | undefined {
    return this.#lastAt;
  }

  /** Problems that no flow has got. */
  get unseenProblems(): number {
    return this.#unseenProblems;
  }

  /** False where nothing is wired to the output of the event: then it is handled. */
  deliver(delivery: Delivery): boolean {
    const uncertain = uncertainProblem(delivery);
    if (uncertain !== undefined) this.problem(uncertain);
    const now = new Date();
    const { output, msg } = messageOf(delivery, now);
    this.#lastAt = now;
    this.changed();
    if (!isWired(this.node, output)) return false;
    this.#send(output, { ...msg });
    return true;
  }

  problem(problem: Problem): void {
    if (isWired(this.node, PROBLEMS_OUTPUT)) {
      this.#send(PROBLEMS_OUTPUT, { topic: problem.kind, payload: problem });
      return;
    }
    if (problem.kind === 'self-test') return;
    // The count of what is blocked is that of the events that wait.
    this.#unseenProblems += problem.kind === 'blocked' ? 1 : problem.count;
    this.node.warn(
      this.RED._('rvm-webhook-in.log.problem', { kind: problem.kind, reason: problem.reason ?? '' }),
    );
    this.changed();
  }

  #send(output: number, msg: NodeMessage): void {
    const messages: (NodeMessage | null)[] = [null, null, null];
    messages[output] = msg;
    this.node.send(messages);
  }
}
