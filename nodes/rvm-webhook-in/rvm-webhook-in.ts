import type { Node, NodeAPI, NodeDef, NodeMessage } from 'node-red';
import type { Delivery, Inbox } from '../../lib/inbox/inbox';
import type { Endpoint } from '../../lib/webhook/endpoint';
import { messageOf } from '../../lib/webhook/message';
import { uncertainProblem, type Problem } from '../../lib/webhook/problem';
import { judgesAmong, type ReceivingStation } from '../../lib/webhook/station';
import { stationById, stationOfAgentUser, stationsOfCloud } from '../rvm-central-station/find-station';
import { lackStatus } from '../rvm-central-station/lack';
import type { Station } from '../rvm-central-station/station';
import { onFlows } from '../support/flow-run';
import { nodeIsNewEnough } from '../support/node-version';
import { registerNode } from '../support/register';
import { firstUnsetVariable, textOf, type Properties } from '../support/settings';
import { lastAlarmStatus, status, type StatusName } from '../support/status';
import { isWired } from '../support/wires';
import { defaultInbox } from './default-inbox';
import { nodeRedServer, type NodeRedServer } from './node-red-server';
import { POSSIBLE_PATH } from './path-rule';
import { isReservedPath } from './reserved-path';

const PROBLEMS_OUTPUT = 2;

/** One `webhook in` node: an endpoint of the dispatcher, the consumer of its events, and its status. */
class WebhookIn {
  readonly #properties: Properties;
  readonly #inbox: Inbox;
  readonly #endpoint: Endpoint | undefined;
  /** The Central Stations this node serves, from one start of the flows to their stop. */
  #stations: readonly Station[] = [];
  /** Set while the flows run: ends the delivery of events to this node. */
  #unsubscribe: (() => void) | undefined;
  readonly #sandboxEndpoints = new Map<string, Station>();
  readonly #endRun: (() => void)[];
  #unwatch: (() => void)[] = [];
  #fault: StatusName | undefined;
  #lastAt: Date | undefined;
  #unseenProblems = 0;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    config: NodeDef,
    private readonly server: NodeRedServer,
  ) {
    this.#properties = { ...config };
    this.#inbox = defaultInbox(RED);
    this.#endpoint = this.#open();
    this.#endRun = [
      onFlows(RED, 'started', () => this.#flowsStarted()),
      onFlows(RED, 'stopping', () => this.#flowsStopping()),
    ];
    this.#showStatus();
  }

  close(): void {
    for (const end of this.#endRun) end();
    this.#flowsStopping();
    if (this.#endpoint !== undefined) this.server.dispatcher.remove(this.#endpoint);
    for (const [id, station] of this.#sandboxEndpoints) station.removeSandboxEndpoint(id);
  }

  #open(): Endpoint | undefined {
    const path = this.#path();
    if (path === undefined) return undefined;
    const endpoint: Endpoint = {
      id: this.node.id,
      path,
      stations: () => this.#receivingStations(),
      stationOfAgentUser: (agentUserId) => stationOfAgentUser(this.RED, agentUserId),
      inbox: this.#inbox,
      middleware: this.server.middleware(),
      onProblem: (problem) => this.#problem(problem),
    };
    return this.server.dispatcher.add(endpoint) ? endpoint : this.#refuse('pathInUse');
  }

  /** The full path; undefined, with the fault noted, where there is none that a request could come by. */
  #path(): string | undefined {
    // A variable that is not set may stand for the path, and its name is shown.
    if (firstUnsetVariable(this.#properties) !== undefined) return undefined;
    const own = textOf(this.#properties, 'path');
    const path = this.server.fullPath(own);
    if (path === undefined) return this.#refuse('noHttpNodes');
    if (own.replace(/\//g, '') === '') return this.#refuse('notConfigured');
    if (!POSSIBLE_PATH.test(own)) return this.#refuse('pathImpossible');
    return isReservedPath(this.RED, path) ? this.#refuse('pathReserved') : path;
  }

  #refuse(fault: StatusName): undefined {
    this.#fault = fault;
    this.node.error(this.RED._(`rvm-webhook-in.errors.${fault}`));
  }

  /**
   * Only now do all nodes of the flow file exist: events that waited can leave, for a message sent earlier would find
   * no node behind the wire; and the sandbox can be told where to post for which stations.
   */
  #flowsStarted(): void {
    this.#unsubscribe ??= this.#inbox.consume(this.node.id, (delivery) => this.#deliver(delivery));
    const stations = this.#findStations();
    this.#stations = stations;
    this.#unwatch = stations.map((station) => station.watch(() => this.#showStatus()));
    const path = this.#endpoint?.path;
    if (path !== undefined) {
      for (const station of stations) {
        const id = `${this.node.id}/${station.key}`;
        this.#sandboxEndpoints.set(id, station);
        station.setSandboxEndpoint(id, () => this.#loopbackUrl(path));
      }
    }
    this.#showStatus();
  }

  /** From here on events wait: the nodes behind the wires may close before this one. */
  #flowsStopping(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    for (const unwatch of this.#unwatch) unwatch();
    this.#unwatch = [];
  }

  get #running(): boolean {
    return this.#unsubscribe !== undefined;
  }

  #loopbackUrl(path: string): string | undefined {
    const origin = this.server.loopbackOrigin();
    return origin === undefined ? undefined : `${origin}${path}`;
  }

  #findStations(): Station[] {
    const stationId = textOf(this.#properties, 'station');
    if (stationId === '') return stationsOfCloud(this.RED, textOf(this.#properties, 'cloud'));
    const station = stationById(this.RED, stationId);
    return station === undefined ? [] : [station];
  }

  #receivingStations(): readonly ReceivingStation[] {
    // Between two runs of the flows a station may not be built yet, and its alarm would be taken for a forgery.
    if (!this.#running || firstUnsetVariable(this.#properties) !== undefined) return [];
    return this.#stations.map((station) => station.receiving());
  }

  #deliver(delivery: Delivery): void {
    const uncertain = uncertainProblem(delivery);
    if (uncertain !== undefined) this.#problem(uncertain);
    const now = new Date();
    const { output, msg } = messageOf(delivery, now);
    this.#lastAt = now;
    this.#showStatus();
    this.#sendTo(output, { ...msg });
  }

  #problem(problem: Problem): void {
    if (isWired(this.node, PROBLEMS_OUTPUT)) {
      this.#sendTo(PROBLEMS_OUTPUT, { topic: problem.kind, payload: problem });
      return;
    }
    this.#unseenProblems += problem.count;
    this.node.warn(
      this.RED._('rvm-webhook-in.log.problem', { kind: problem.kind, reason: problem.reason ?? '' }),
    );
    this.#showStatus();
  }

  #sendTo(output: number, msg: NodeMessage): void {
    const messages: (NodeMessage | null)[] = [null, null, null];
    messages[output] = msg;
    this.node.send(messages);
  }

  #showStatus(): void {
    this.node.status(this.#status());
  }

  #status(): ReturnType<typeof status> {
    const { RED } = this;
    if (this.#fault !== undefined) return status(RED, this.#fault);
    const unset = firstUnsetVariable(this.#properties);
    if (unset !== undefined) return status(RED, 'variableNotSet', { variable: unset });
    const stations = this.#running ? this.#stations : this.#findStations();
    if (stations.length === 0) return status(RED, 'notConfigured');
    for (const station of stations) {
      const lack = lackStatus(RED, station);
      if (lack !== undefined) return lack;
    }
    // Stations that share a phrase cannot be told apart, so that none may be left to judge.
    const waiting = !this.#running || stations.some((station) => station.notReceiving() === 'not-ready');
    if (!waiting && judgesAmong(this.#receivingStations()).able.length === 0)
      return status(RED, 'notConfigured');
    if (textOf(this.#properties, 'handledWhen', 'sent') === 'settled') return status(RED, 'noSettleEvent');
    if (this.#unseenProblems > 0) return status(RED, 'problems', { count: this.#unseenProblems });
    const isSandbox = stations.some((station) => station.isSandbox);
    return lastAlarmStatus(RED, this.#lastAt, isSandbox);
  }
}

export = (RED: NodeAPI): void => {
  const server = nodeIsNewEnough() ? nodeRedServer(RED) : undefined;

  registerNode(RED, 'rvm-webhook-in', (node: Node, config: NodeDef) => {
    if (server === undefined) return;
    const webhook = new WebhookIn(RED, node, config, nodeRedServer(RED));
    node.on('close', (_removed: boolean, done: () => void) => {
      webhook.close();
      done();
    });
  });
};
