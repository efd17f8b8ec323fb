import { types } from 'node:util';
import type { Node, NodeAPI, NodeMessage, NodeStatus } from 'node-red';
import type { RvmError } from '../../lib/error';
import { isRecord, type JsonRecord } from '../../lib/json/json';
import {
  authorizationLines,
  isAuthorization,
  withoutAuthorization,
} from '../../lib/webhook/proof/authenticate';
import { headOf } from '../../lib/webhook/receiver';
import { Reporter } from '../../lib/webhook/reporter';
import { type Reception, type RequestParts, StatelessReceiver } from '../../lib/webhook/stateless-receiver';
import {
  chosenStation,
  missingError,
  missingStatus,
  type Station,
  stationById,
  stationOfAgentUser,
} from '../rvm-central-station/station';
import { onInput } from '../support/input';
import { type NodeConfig, registerNode } from '../support/register';
import { textOf, unsetVariableError, unsetVariables, type UnsetVariables } from '../support/settings';
import { lastAlarmStatus, showFromStart, status, toldProblem, unsetStatus } from '../support/status';

const AUTHENTIC_OUTPUT = 0;
const REFUSED_OUTPUT = 1;
/** Status for a message that cannot be judged. It does not guarantee a resend: http response cannot cut a connection. */
const UNDECIDED = 500;

/** One *verify webhook* node: takes the request out of each message and replaces it by the event or the problem. */
class VerifyWebhook {
  readonly #stationId: string;
  readonly #unset: UnsetVariables | undefined;
  readonly #reporter: Reporter;
  readonly #receiver: StatelessReceiver;
  #lastAt: Date | undefined;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    config: NodeConfig,
  ) {
    this.#stationId = textOf(config, 'station');
    this.#unset = unsetVariables(config);
    const monotonic = (): number => performance.now();
    this.#reporter = new Reporter(monotonic, (line) => node.warn(line));
    this.#receiver = new StatelessReceiver({
      id: node.id,
      stationOfAgentUser: (agentUserId) => stationOfAgentUser(RED, agentUserId),
      reporter: this.#reporter,
      now: Date.now,
      monotonic,
    });
    showFromStart(RED, node, () => this.#status());
    const unwatch = this.#station()?.watch(() => this.#showStatus());
    if (unwatch !== undefined) node.on('close', unwatch);
    onInput(node, (msg) => this.#verify(msg));
  }

  /**
   * Returns the output for the message.
   * @throws RvmError CONFIG_MISSING where the station cannot judge.
   */
  async #verify(msg: NodeMessage): Promise<number> {
    // Set first: without a status http response would answer 200 after any failure, and the service would not
    // send again.
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
    return missingError(chosenStation(this.RED, this.#stationId));
  }

  #showStatus(): void {
    this.node.status(this.#status());
  }

  #status(): NodeStatus {
    const { RED } = this;
    if (this.#unset !== undefined) return unsetStatus(RED, this.#unset);
    const station = this.#station();
    if (station === undefined) return status(RED, 'notConfigured');
    return missingStatus(RED, station) ?? lastAlarmStatus(RED, this.#lastAt, station.isSandbox);
  }
}

/** Sets the result for the flow, and the answer for http response. */
function putReception(RED: NodeAPI, msg: NodeMessage, reception: Reception): void {
  const { outcome } = reception;
  if (outcome === 'authentic') Object.assign(msg, reception.msg);
  else Object.assign(msg, { topic: reception.problem.kind, payload: toldProblem(RED, reception.problem) });
  const answer = outcome === 'undecided' ? { status: UNDECIDED } : headOf(reception.answer);
  msg.statusCode = answer.status;
  if (msg.res === undefined || answer.headers === undefined) return;
  msg.headers = { ...(isRecord(msg.headers) && msg.headers), ...answer.headers };
}

export = (RED: NodeAPI): void =>
  registerNode(RED, 'rvm-verify', (_RED, node: Node, config) => void new VerifyWebhook(RED, node, config));

/** Where parsers put the body of a request. A body with a token is a proof, too. */
const BODIES = ['body', 'rawBody'];

/**
 * Takes the request out of a message of http in, or of another source that sets `headers`. The rest contains no proof, so that
 * none reaches an output or a Catch node.
 */
function takeRequest(msg: NodeMessage): RequestParts {
  const { payload, headers } = msg;
  const http = isRecord(msg.req) ? msg.req : undefined;
  const source = http ?? { method: 'POST', headers };
  const request = {
    head: {
      method: typeof source.method === 'string' ? source.method : undefined,
      headers: Object.fromEntries(
        linesOf(source.headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
    },
    authorization: authorizationLines(headerList(source)),
    // A buffer made in a function node belongs to another realm, where `instanceof` fails.
    body: types.isUint8Array(payload) ? payload : undefined,
    remoteAddress: remoteAddressOf(source),
  };
  delete msg.payload;
  removeAuthorization(msg);
  if (http !== undefined) {
    removeAuthorization(http);
    for (const name of BODIES) delete http[name];
  }
  return request;
}

/**
 * Names and values alternating, as in Node.js `rawHeaders`: for a name on several lines the other forms show only the first
 * value.
 */
function headerList({ rawHeaders, headers }: JsonRecord): string[] {
  return Array.isArray(rawHeaders) ? rawHeaders.map(String) : linesOf(headers).flat();
}

function linesOf(headers: unknown): [name: string, value: string][] {
  const entries = Object.entries(isRecord(headers) ? headers : {});
  return entries.flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((line) => typeof line === 'string')
      .map((line): [string, string] => [name, line]),
  );
}

function remoteAddressOf({ socket }: JsonRecord): string | undefined {
  const address = isRecord(socket) ? socket.remoteAddress : undefined;
  return typeof address === 'string' ? address : undefined;
}

function removeAuthorization(holder: JsonRecord): void {
  // Node.js derives these from the raw list at first access, with its original length; therefore the raw list
  // is changed last.
  for (const headers of [holder.headers, holder.headersDistinct]) {
    if (!isRecord(headers)) continue;
    for (const name of Object.keys(headers)) if (isAuthorization(name)) delete headers[name];
  }
  const { rawHeaders } = holder;
  if (Array.isArray(rawHeaders)) holder.rawHeaders = withoutAuthorization(rawHeaders.map(String));
}
