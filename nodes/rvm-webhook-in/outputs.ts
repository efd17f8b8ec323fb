import type { Consumer, Delivery, Incident } from '../../lib/inbox/model';
import { messageOf } from '../../lib/message/event-message';
import { meter } from '../../lib/meter';
import type { RequestOrigin } from '../../lib/webhook/endpoint';
import {
  deadProblem,
  endpointProblem,
  isRefusal,
  type Problem,
  type ProblemReason,
  storeProblem,
  uncertainProblem,
} from '../../lib/webhook/problem';
import { LogThrottle } from '../../lib/webhook/rate-limits';
import { incidentText } from '../rvm-inbox/inbox-log';
import { titleOf } from '../rvm-inbox/inboxes';
import { isWired } from '../support/input';
import { problemKey, toldProblem, type ToldProblem } from '../support/status';
import type { OwnSelfTest } from './message-checks';
import { termsOf } from './settings';
import type { Wiring } from './wiring';

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

/** Sends the problems of a *webhook in*, and notes those that no flow takes. */
export class ProblemOutput {
  readonly #refusals = new LogThrottle(QUIET_PERIOD, () => performance.now());

  constructor(
    private readonly wiring: Wiring,
    private readonly selfTests: OwnSelfTest,
  ) {}

  /** @param values values for the text of a problem of this kind */
  problem(problem: Problem, values?: Record<string, string>): void {
    const { RED, node, unseen } = this.wiring;
    if (!this.selfTests.came(problem.messageId)) return;
    if (isCounted(problem)) meter()?.problem(problem.kind, OF_EACH.has(problem.kind) ? 1 : problem.count);
    const reported = toldProblem(RED, problem, values);
    const isTaken = isWired(node, PROBLEMS_OUTPUT);
    if (isTaken) node.send([null, null, { topic: reported.kind, payload: reported }]);
    if (reported.ended === true) unseen.over(reported);
    else if (!isTaken && !isNotedElsewhere(reported)) this.#note(reported);
  }

  /** Notes a refused message. Even where a flow receives the problem, a user may have to correct a setting. */
  refused(reason: ProblemReason, origin: RequestOrigin): void {
    const { RED, node, unseen } = this.wiring;
    meter()?.problem('unauthentic', 1);
    unseen.refused(reason, origin);
    if (!isRefusal(reason) || this.#refusals.pass(reason) === 0) return;
    const text = RED._(problemKey({ kind: 'unauthentic', reason }));
    node.warn(RED._('rvm-webhook-in.log.refused', { kind: 'unauthentic', reason, text }));
  }

  #note(problem: ToldProblem): void {
    const { RED, node, unseen } = this.wiring;
    const { kind, reason, text } = problem;
    unseen.add(problem);
    node.warn(RED._('rvm-webhook-in.log.problem', { kind, reason: reason ?? '', text }));
  }
}

/** The flow of a *webhook in* as the consumer of an inbox: sends its events, and what becomes of them as problems. */
export class FlowConsumer implements Consumer {
  readonly endpointId: string;
  readonly nodeId: string;
  readonly handledWhen: Consumer['handledWhen'];
  readonly redeliverAfter: number;
  readonly maxAttempts: number;
  readonly maxInFlight: number;
  #lastAt: Date | undefined;

  constructor(
    private readonly wiring: Wiring,
    private readonly problems: ProblemOutput,
    endpointId: string,
  ) {
    const terms = termsOf(wiring.properties);
    this.endpointId = endpointId;
    this.nodeId = wiring.node.id;
    this.handledWhen = terms.handledWhen;
    this.redeliverAfter = terms.redeliverAfter;
    this.maxAttempts = terms.maxAttempts;
    this.maxInFlight = terms.maxInFlight;
  }

  /** Time of the last event. */
  get lastAt(): Date | undefined {
    return this.#lastAt;
  }

  /** Returns false where nothing is wired to the output of the event: it counts as handled then. */
  deliver(delivery: Delivery): boolean {
    const { node, changes } = this.wiring;
    const uncertain = uncertainProblem(delivery);
    if (uncertain !== undefined) this.problems.problem(uncertain);
    const now = new Date();
    const { output, msg } = messageOf(delivery, now);
    this.#lastAt = now;
    changes.notify();
    if (!isWired(node, output)) return false;
    node.send(output === 0 ? [{ ...msg }, null, null] : [null, { ...msg }, null]);
    return true;
  }

  onDead(delivery: Delivery, reason: 'attempts' | 'rejected', note?: string): void {
    this.problems.problem(deadProblem(delivery, reason, note));
  }

  onBlocked(waiting: number): void {
    const { only } = this.wiring.stations;
    this.problems.problem(endpointProblem(only, { kind: 'blocked', reason: 'window', count: waiting }));
  }

  onSpilled(outage: { count: number; isOver: boolean }): void {
    this.problems.problem(storeProblem(outage, this.wiring.stations.only));
  }

  onIncident(incident: Incident): void {
    const { RED, inbox, stations } = this.wiring;
    const note = incidentText(RED, titleOf(RED, inbox), incident);
    const isOver = incident.kind === 'takes';
    this.problems.problem(storeProblem({ count: 1, isOver, note }, stations.only));
  }
}
