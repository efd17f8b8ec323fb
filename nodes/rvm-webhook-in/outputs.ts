import type { Node, NodeAPI, NodeMessage, NodeStatus } from 'node-red';
import type { Delivery } from '../../lib/inbox/inbox';
import { messageOf } from '../../lib/message/event-message';
import { meter } from '../../lib/meter';
import type { RequestOrigin } from '../../lib/webhook/endpoint';
import type { UnseenProblems } from '../../lib/webhook/endpoint-health';
import { isRefusal, type Problem, type ProblemReason, uncertainProblem } from '../../lib/webhook/problem';
import { LogThrottle } from '../../lib/webhook/rate-limits';
import { isWired } from '../support/input';
import { problemKey, toldProblem, type ToldProblem } from '../support/status';

const PROBLEMS_OUTPUT = 2;
/** One line of the log about refused messages of one reason in this time, in milliseconds. */
const QUIET_PERIOD = 10 * 60 * 1000;

/** A self-test is none; refused messages are noted one by one; of one phrase for two Central Stations status and log tell already. */
function isNotedElsewhere({ kind, reason }: Problem): boolean {
  return kind === 'self-test' || kind === 'same-phrase' || isRefusal(reason);
}

/** Whose count is that of the events that wait, or of the stations. */
const OF_EACH: ReadonlySet<Problem['kind']> = new Set(['blocked', 'same-phrase']);

/** Refused messages are counted one by one; a self-test is no problem, nor is the end of one. */
function isCounted({ kind, ended }: Problem): boolean {
  return kind !== 'self-test' && kind !== 'unauthentic' && ended !== true;
}

/** What leaves a *webhook in*: its events and problems, and what of it the status tells. */
export class Outputs {
  #lastAt: Date | undefined;
  readonly #refusals = new LogThrottle(QUIET_PERIOD, () => performance.now());

  /**
   * @param unseen where problems are noted that no flow takes
   * @param changed told of each event
   */
  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    private readonly unseen: UnseenProblems,
    private readonly changed: () => void,
  ) {}

  /** When the last event came. */
  get lastAt(): Date | undefined {
    return this.#lastAt;
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

  /** @param values what the text of a problem of this kind names */
  problem(problem: Problem, values?: Record<string, string>): void {
    if (isCounted(problem)) meter()?.problem(problem.kind, OF_EACH.has(problem.kind) ? 1 : problem.count);
    const told = toldProblem(this.RED, problem, values);
    const isTaken = isWired(this.node, PROBLEMS_OUTPUT);
    if (isTaken) this.#send(PROBLEMS_OUTPUT, { topic: told.kind, payload: told });
    if (told.ended === true) this.unseen.over(told);
    else if (!isTaken && !isNotedElsewhere(told)) this.#note(told);
  }

  /** A message was refused. Whether a flow takes its problem or not, somebody may have to correct what was entered. */
  refused(reason: ProblemReason, origin: RequestOrigin): void {
    meter()?.problem('unauthentic', 1);
    this.unseen.refused(reason, origin);
    if (!isRefusal(reason) || this.#refusals.pass(reason) === 0) return;
    const text = this.RED._(problemKey({ kind: 'unauthentic', reason }));
    this.node.warn(this.RED._('rvm-webhook-in.log.refused', { kind: 'unauthentic', reason, text }));
  }

  #note(problem: ToldProblem): void {
    const { kind, reason, text } = problem;
    this.unseen.add(problem);
    this.node.warn(this.RED._('rvm-webhook-in.log.problem', { kind, reason: reason ?? '', text }));
  }

  #send(output: number, msg: NodeMessage): void {
    const messages: (NodeMessage | null)[] = [null, null, null];
    messages[output] = msg;
    this.node.send(messages);
  }
}

/** Between two statuses, in milliseconds. */
const SHOW_EVERY = 250;

/** The status of a node, as often as it is worth to be looked at: a hundred events in a second are one change of it. */
export class StatusThrottle {
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
