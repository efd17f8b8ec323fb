import type { Node, NodeAPI, NodeDef } from 'node-red';
import { withTimeout } from '../../lib/concurrency/timers';
import type { Consumption, Inbox, Incident } from '../../lib/inbox/model';
import type { InboxClaim } from '../../lib/inbox/inboxes';
import { eventFilter, type JudgedIds } from '../../lib/message/event-filter';
import type { DeadLetter, ProvenMessage } from '../../lib/message/record';
import { type Endpoint, endpointKey } from '../../lib/webhook/endpoint';
import type { UnseenProblems } from '../../lib/webhook/unseen-problems';
import {
  blockedProblem,
  deadProblem,
  incidentProblem,
  type Problem,
  storeProblem,
} from '../../lib/webhook/problem';
import { onlyStation, type ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import type { SelfTestReport } from '../../lib/webhook/self-test-steps';
import { stationOfAgentUser } from '../rvm-central-station/station';
import { incidentText } from '../rvm-inbox/inbox-log';
import { allInboxes, chosenInbox, claimInbox, type InboxNode, titleOf } from '../rvm-inbox/inboxes';
import { onFlowsState } from '../support/flows';
import {
  type Properties,
  textOf,
  unsetTogether,
  unsetVariables,
  type UnsetVariables,
} from '../support/settings';
import type { StatusName } from '../support/status';
import type { WebhookServer } from '../support/webhook-server';
import { FilterWatch, OwnSelfTest, ProvenMessages } from './message-checks';
import { fullPath } from './node-red-server';
import { Outputs, StatusThrottle } from './outputs';
import { problemsKept, problemsOf } from './problem-registry';
import { SamePhrase, SandboxEndpoints, ServedStations } from './served-stations';
import { filterOf, loopbackUrl, saysWhenHandled, silentAfterOf, termsOf, webhookAddress } from './settings';
import { currentState, webhookHealth, type WebhookHealth, type WebhookState, webhookStatus } from './status';
import type { DeployedWebhook } from './webhook-node';

/** Milliseconds that closing a node waits for its inbox at most. */
const END_WITHIN = 2000;

/** One *webhook in* node: an endpoint of the dispatcher, and the consumer of its events. */
export class WebhookIn implements DeployedWebhook {
  readonly #properties: Properties;
  /** Unset variables of its own properties. */
  readonly #ownUnset: UnsetVariables | undefined;
  readonly #stations: ServedStations;
  readonly #outputs: Outputs;
  readonly #shown: StatusThrottle;
  readonly #problems: UnseenProblems;
  readonly #samePhrase: SamePhrase;
  readonly #inboxNode: InboxNode | undefined;
  readonly #claim: InboxClaim;
  readonly #inbox: Inbox;
  /** Undefined without an endpoint. Events of a former endpoint wait in the inbox, and are delivered once there is one. */
  readonly #consumption: Consumption | undefined;
  readonly #endpoint: Endpoint | undefined;
  readonly #sandboxEndpoints: SandboxEndpoints;
  readonly #selfTest: OwnSelfTest;
  readonly #proven: ProvenMessages;
  readonly #filters: FilterWatch;
  /** Ends the subscriptions of this node. */
  readonly #end: (() => void)[];
  #unwatchServer: () => void = () => undefined;
  #fault: StatusName | undefined;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    config: NodeDef,
    private readonly server: WebhookServer,
  ) {
    this.#properties = { ...config };
    this.#ownUnset = unsetVariables(this.#properties, ...Object.values(filterOf(this.#properties)));
    this.#stations = new ServedStations(RED, this.#properties);
    this.#problems = problemsOf(node.id);
    this.#outputs = new Outputs(RED, node, this.#problems, () => this.#shown.showSoon());
    this.#samePhrase = new SamePhrase(this.#stations, this.#problems);
    this.#shown = new StatusThrottle(node, () => webhookStatus(RED, this.#state()));
    this.#inboxNode = chosenInbox(RED, node, this.#properties, 'rvm-webhook-in.errors.noInbox');
    this.#claim = claimInbox(RED, this.#inboxNode?.place);
    this.#inbox = this.#claim.inbox;
    this.#endpoint = this.#open();
    this.#consumption = this.#endpoint && this.#consume(this.#endpoint.id);
    this.#proven = new ProvenMessages({
      inbox: this.#inbox,
      endpointId: this.#endpoint?.id,
      silentAfter: silentAfterOf(this.#properties),
      stations: this.#stations,
      report: (problem, values) => this.#outputs.problem(problem, values),
    });
    this.#filters = new FilterWatch({
      wanted: filterOf(this.#properties),
      inboxes: allInboxes,
      stations: () => this.#stations.all,
      changed: () => this.#shown.showSoon(),
    });
    this.#sandboxEndpoints = new SandboxEndpoints(node.id);
    this.#selfTest = new OwnSelfTest({
      inbox: this.#inbox,
      stations: () => this.#receivingStations(),
      url: () => this.path && webhookAddress(server, this.#properties, this.path),
    });
    if (!saysWhenHandled(this.#properties) && this.#unset() === undefined) this.#refuse('wrongSetting');
    this.#end = [
      onFlowsState(RED, 'started', () => this.#flowsStarted()),
      onFlowsState(RED, 'stopping', () => this.#flowsStopping()),
      this.#stations.watch(() => this.#stationsChanged()),
      this.#inbox.watch(() => this.#shown.showSoon()),
      this.#problems.watch(() => this.#shown.showSoon()),
    ];
    this.#shown.show();
  }

  get path(): string | undefined {
    return this.#endpoint?.path;
  }

  get endpointId(): string | undefined {
    return this.#endpoint?.id;
  }

  get maxAttempts(): number | undefined {
    const { handledWhen, maxAttempts } = termsOf(this.#properties);
    return handledWhen === 'settled' ? maxAttempts : undefined;
  }

  get title(): string {
    const names = this.#stations.all.map(({ name }) => name).join(', ');
    return this.node.name || names || (this.path ?? this.node.id);
  }

  async judgeAgain(): Promise<number> {
    return this.#endpoint === undefined ? 0 : this.server.dispatcher.judgeAgain(this.#endpoint);
  }

  selfTest(isScheduled = false): Promise<SelfTestReport> {
    return this.#selfTest.run(isScheduled);
  }

  namedAt(stations: ReadonlySet<string>): JudgedIds {
    return this.#filters.namedAt(stations);
  }

  health(): WebhookHealth {
    return webhookHealth(this.RED, this.#state(), this.#stations, this.server, this.#proven);
  }

  /** @param removed true where the node is deleted or disabled */
  async close(removed: boolean): Promise<void> {
    for (const end of this.#end) end();
    this.#flowsStopping();
    this.#shown.close();
    if (this.#endpoint !== undefined) this.server.dispatcher.remove(this.#endpoint);
    this.#sandboxEndpoints.remove();
    if (removed) this.#proven.forget();
    // So that an ordinary restart leaves no delivery uncertain; a slow disk must not delay it.
    await withTimeout(Promise.all([this.#consumption?.end(removed), problemsKept()]), END_WITHIN);
    this.#claim.release();
  }

  #unset(): UnsetVariables | undefined {
    return unsetTogether(this.#ownUnset, this.#inboxNode?.unsetVariables);
  }

  #refuse(fault: StatusName): undefined {
    this.#fault = fault;
    this.node.error(this.RED._(`rvm-webhook-in.errors.${fault}`));
  }

  #consume(endpointId: string): Consumption {
    return this.#inbox.consume({
      endpointId,
      nodeId: this.node.id,
      ...termsOf(this.#properties),
      deliver: (delivery) => this.#outputs.deliver(delivery),
      onDead: (delivery, reason, note) => this.#problem(deadProblem(delivery, reason, note)),
      onBlocked: (waiting) =>
        this.#problem(blockedProblem(waiting, onlyStation(this.#stations.all), new Date())),
      onSpilled: (outage) => this.#problem(storeProblem(outage, onlyStation(this.#stations.all), new Date())),
      onIncident: (incident) => this.#befell(incident),
    });
  }

  #befell(incident: Incident): void {
    const text = incidentText(this.RED, titleOf(this.RED, this.#inbox), incident);
    this.#problem(
      incidentProblem(text, incident.kind === 'takes', onlyStation(this.#stations.all), new Date()),
    );
  }

  #open(): Endpoint | undefined {
    const opened = openEndpoint(this.server, textOf(this.#properties, 'path'), {
      stations: () => this.#receivingStations(),
      watch: (changed) => this.#stations.watch(changed),
      stationOfAgentUser: (agentUserId) => stationOfAgentUser(this.RED, agentUserId),
      serviceTimeOf: (stationKey) => this.#serviceTimeOf(stationKey),
      inbox: this.#inbox,
      filter: eventFilter(filterOf(this.#properties)),
      onProblem: (problem) => this.#problem(problem),
      onRefused: (reason, origin) => this.#outputs.refused(reason, origin),
      onAccepted: (problem, record) => this.#accepted(problem, record),
    });
    if (opened === undefined) return undefined;
    return 'fault' in opened ? this.#refuse(opened.fault) : opened.endpoint;
  }

  #serviceTimeOf(stationKey: string): number | undefined {
    const { clockAhead } = this.#stations.all.find(({ key }) => key === stationKey) ?? {};
    return clockAhead === undefined ? undefined : Date.now() + clockAhead;
  }

  #receivingStations(): readonly ReceivingStation[] {
    return this.#unset() === undefined ? this.#stations.receiving() : [];
  }

  #stationsChanged(): void {
    this.#shown.show();
    const begun = this.#samePhrase.begun();
    if (begun !== undefined) this.#outputs.problem(begun, { stations: this.#samePhrase.names });
  }

  #problem(problem: Problem): void {
    if (this.#selfTest.came(problem.messageId)) this.#outputs.problem(problem);
  }

  /**
   * Only now do all nodes of the flow file exist. Waiting events can be sent (earlier they would find no node behind the wire),
   * and the sandbox can be given the endpoints of the stations.
   */
  #flowsStarted(): void {
    this.#unwatchServer = this.server.watch(() => this.#shown.show());
    // First: this updates the status and releases held requests. Behind a step that fails it would not run,
    // and every alarm would be cut.
    this.#stations.flowsStarted();
    this.#consumption?.resume();
    this.#proven.start();
    this.#filters.start();
    this.#tellSandbox();
    this.judgeAgain().catch(() => {
      // The store fails, which the status shows already; the next deploy tries again.
    });
  }

  /** Pauses delivery: the nodes behind the wires may close before this one. */
  #flowsStopping(): void {
    this.#stations.flowsStopping();
    this.#proven.stop();
    this.#filters.stop();
    this.#consumption?.pause();
    this.#unwatchServer();
  }

  #tellSandbox(): void {
    const { path } = this;
    if (path !== undefined)
      this.#sandboxEndpoints.notify(this.#stations.all, () => loopbackUrl(this.server, path));
  }

  #accepted(problem: Problem | undefined, record: ProvenMessage | DeadLetter): void {
    this.#problems.accepted(problem);
    this.#proven.accepted(record);
    if (record.kind === 'event') this.#filters.came(record.event);
  }

  #state(): WebhookState {
    return currentState(this.RED, {
      properties: this.#properties,
      fault: this.#fault,
      unsetVariables: this.#unset(),
      server: this.server,
      stations: this.#stations,
      inboxNode: this.#inboxNode,
      inbox: this.#inbox,
      endpointId: this.endpointId,
      samePhrase: this.#samePhrase,
      filters: this.#filters,
      problems: this.#problems,
      outputs: this.#outputs,
    });
  }
}

/**
 * Opens an endpoint at a server, or returns why not; undefined where the status already says why.
 * @param path as entered in the node
 */
function openEndpoint(
  server: WebhookServer,
  path: string,
  further: Omit<Endpoint, 'id' | 'path' | 'middleware'>,
): { endpoint: Endpoint } | { fault: StatusName } | undefined {
  const { port } = server;
  const reading = fullPath(server, path);
  if (reading === undefined || port === undefined) return undefined;
  if ('fault' in reading) return reading;
  const id = endpointKey(port, reading.path);
  // The same port and path on another address of this machine: the inbox could not tell their events apart.
  if (further.inbox.hasConsumer(id)) return { fault: 'pathInUse' };
  const endpoint = { ...further, id, path: reading.path, middleware: server.middleware() };
  return server.dispatcher.add(endpoint) ? { endpoint } : { fault: 'pathInUse' };
}
