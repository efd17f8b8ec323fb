import type { Node, NodeAPI, NodeMessage, NodeStatus } from 'node-red';
import type { Delivery } from '../../lib/inbox/model';
import { messageOf } from '../../lib/message/event-message';
import { meter } from '../../lib/meter';
import type { RequestOrigin } from '../../lib/webhook/endpoint';
import type { UnseenProblems } from '../../lib/webhook/unseen-problems';
import { isRefusal, type Problem, type ProblemReason, uncertainProblem } from '../../lib/webhook/problem';
import { LogThrottle } from '../../lib/webhook/rate-limits';
import { isWired } from '../support/input';
import { problemKey, toldProblem, type ToldProblem } from '../support/status';

const PROBLEMS_OUTPUT = 2;
/** Milliseconds in which one reason for refused messages is logged once. */
const QUIET_PERIOD = 10 * 60 * 1000;

/**
 * True for problems that are reported elsewhere: self-tests need no report, refused messages are noted one by one, and status
 * and log already report a phrase that two Central Stations share.
 */
function isNotedElsewhere({ kind, reason }: Problem): boolean {
  return kind === 'self-test' || kind === 'same-phrase' || isRefusal(reason);
}

/** Kinds whose `count` is the number of waiting events or of stations, not of problems. */
const OF_EACH: ReadonlySet<Problem['kind']> = new Set(['blocked', 'same-phrase']);

/** Refused messages are counted where they are refused; a self-test and the end of a problem are no problems. */
function isCounted({ kind, ended }: Problem): boolean {
  return kind !== 'self-test' && kind !== 'unauthentic' && ended !== true;
}

/** Sends the events and problems of a *webhook in*, and notes what its status shows of them. */
export class Outputs {
  #lastAt: Date | undefined;
  readonly #refusals = new LogThrottle(QUIET_PERIOD, () => performance.now());

  /**
   * @param unseen archive of problems that no flow receives
   * @param changed called for each event
   */
  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    private readonly unseen: UnseenProblems,
    private readonly changed: () => void,
  ) {}

  /** Time of the last event. */
  get lastAt(): Date | undefined {
    return this.#lastAt;
  }

  /** Returns false where nothing is wired to the output of the event: it counts as handled then. */
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

  /** @param values values for the text of a problem of this kind */
  problem(problem: Problem, values?: Record<string, string>): void {
    if (isCounted(problem)) meter()?.problem(problem.kind, OF_EACH.has(problem.kind) ? 1 : problem.count);
    const reported = toldProblem(this.RED, problem, values);
    const isTaken = isWired(this.node, PROBLEMS_OUTPUT);
    if (isTaken) this.#send(PROBLEMS_OUTPUT, { topic: reported.kind, payload: reported });
    if (reported.ended === true) this.unseen.over(reported);
    else if (!isTaken && !isNotedElsewhere(reported)) this.#note(reported);
  }

  /** Notes a refused message. Even where a flow receives the problem, a user may have to correct a setting. */
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

/** Milliseconds between two updates of the status. */
const SHOW_EVERY = 250;

/** Limits updates of the node status: a hundred events in a second cause a few updates, not a hundred. */
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

  /** Cancels a pending update. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
