import type { Node, NodeAPI, NodeDef, NodeMessage, NodeStatus } from 'node-red';
import type { RvmError } from '../../lib/error';
import { isRecord } from '../../lib/json/json';
import { headOf } from '../../lib/webhook/receiver';
import { StatelessReceiver, type Reception } from '../../lib/webhook/stateless-receiver';
import { Reporter } from '../../lib/webhook/reporter';
import {
  chosenStation,
  stationById,
  stationOfAgentUser,
  lackError,
  lackStatus,
  type Station,
} from '../rvm-central-station/station';
import { onInput } from '../support/input';
import { toldProblem, lastAlarmStatus, showFromStart, status, unsetStatus } from '../support/status';
import { registerNode } from '../support/register';
import { textOf, unsetVariableError, unsetVariables, type UnsetVariables } from '../support/settings';
import { takeRequest } from './request-in-message';

const AUTHENTIC_OUTPUT = 0;
const REFUSED_OUTPUT = 1;
/** Only of what cannot be judged. It stands for no promise of a resend: http response has no way to cut a connection. */
const UNDECIDED = 500;

/** One `verify webhook` node: takes the request out of each message, and puts the event or the problem in its place. */
class VerifyWebhook {
  readonly #stationId: string;
  readonly #unset: UnsetVariables | undefined;
  readonly #reporter: Reporter;
  readonly #receiver: StatelessReceiver;
  #lastAt: Date | undefined;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    config: NodeDef,
  ) {
    this.#stationId = textOf({ ...config }, 'station');
    this.#unset = unsetVariables(config);
    const steady = (): number => performance.now();
    this.#reporter = new Reporter(steady, (line) => node.warn(line));
    this.#receiver = new StatelessReceiver({
      id: node.id,
      stationOfAgentUser: (agentUserId) => stationOfAgentUser(RED, agentUserId),
      reporter: this.#reporter,
      now: Date.now,
      steady,
    });
    showFromStart(RED, node, () => this.#status());
    const unwatch = this.#station()?.watch(() => this.#showStatus());
    if (unwatch !== undefined) node.on('close', unwatch);
    onInput(node, (msg) => this.#verify(msg));
  }

  /** Returns the output that the message leaves by. @throws RvmError CONFIG_MISSING where there is nothing to judge by. */
  async #verify(msg: NodeMessage): Promise<number> {
    // Whatever happens: without a status http response would answer 200, and the service would never send again.
    msg.statusCode = UNDECIDED;
    const request = takeRequest(msg);
    const reception = await this.#receiver.receive(request, this.#station()?.receiving());
    putReception(this.RED, msg, reception);
    if (reception.outcome === 'authentic') {
      this.#lastAt = new Date();
      this.#showStatus();
      return AUTHENTIC_OUTPUT;
    }
    const { kind, reason } = reception.problem;
    if (kind === 'blocked') throw this.#lack();
    if (reason === 'raw-body-missing')
      this.#reporter.log(reason, this.RED._('rvm-verify.log.rawBodyMissing'));
    return REFUSED_OUTPUT;
  }

  #station(): Station | undefined {
    return this.#unset === undefined ? stationById(this.RED, this.#stationId) : undefined;
  }

  #lack(): RvmError {
    if (this.#unset !== undefined) return unsetVariableError(this.#unset);
    return lackError(chosenStation(this.RED, this.#stationId));
  }

  #showStatus(): void {
    this.node.status(this.#status());
  }

  #status(): NodeStatus {
    const { RED } = this;
    if (this.#unset !== undefined) return unsetStatus(RED, this.#unset);
    const station = this.#station();
    if (station === undefined) return status(RED, 'notConfigured');
    return lackStatus(RED, station) ?? lastAlarmStatus(RED, this.#lastAt, station.isSandbox);
  }
}

/** What the flow gets, and what http response answers with. */
function putReception(RED: NodeAPI, msg: NodeMessage, reception: Reception): void {
  const { outcome } = reception;
  if (outcome === 'authentic') Object.assign(msg, reception.msg);
  else Object.assign(msg, { topic: reception.problem.kind, payload: toldProblem(RED, reception.problem) });
  const answer = outcome === 'undecided' ? { status: UNDECIDED } : headOf(reception.answer);
  msg.statusCode = answer.status;
  if (msg.res === undefined || answer.headers === undefined) return;
  msg.headers = { ...(isRecord(msg.headers) && msg.headers), ...answer.headers };
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-verify', (node: Node, config: NodeDef) => void new VerifyWebhook(RED, node, config));
};
