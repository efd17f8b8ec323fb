import { withTimeout } from '../../lib/concurrency/timers';
import type { Consumption } from '../../lib/inbox/model';
import { type EventFilter, eventFilter, type JudgedIds } from '../../lib/message/event-filter';
import type { DeadLetter, ProvenMessage } from '../../lib/message/record';
import type { Endpoint, RequestOrigin } from '../../lib/webhook/endpoint';
import { EndpointHealth } from '../../lib/webhook/endpoint-health';
import { endpointProblem, type Problem, type ProblemReason } from '../../lib/webhook/problem';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import type { SelfTestReport } from '../../lib/webhook/self-test-steps';
import { stationOfAgentUser } from '../rvm-central-station/station';
import { allInboxes } from '../rvm-inbox/inboxes';
import { onFlowsState } from '../support/flows';
import { FilterWatch, OwnSelfTest } from './message-checks';
import { FlowConsumer, ProblemOutput } from './outputs';
import { problemsKept } from './problem-registry';
import { SamePhrase, SandboxEndpoints } from './served-stations';
import { loopbackUrl, silentAfterOf, termsOf } from './settings';
import { ShownStatus, type WebhookHealth } from './status';
import type { DeployedWebhook } from './webhook-node';
import type { Wiring } from './wiring';

/** Milliseconds that closing a node waits for its inbox at most. */
const END_WITHIN = 2000;
const HOUR = 60 * 60 * 1000;

/** The address of a *webhook in*, as the receiver sees it. */
class WebhookEndpoint implements Endpoint {
  readonly id: string;
  readonly path: string;
  readonly inbox: Endpoint['inbox'];
  readonly filter: EventFilter;
  readonly middleware: Endpoint['middleware'];

  constructor(
    private readonly wiring: Wiring,
    { id, path }: Pick<Endpoint, 'id' | 'path'>,
    private readonly problems: ProblemOutput,
    private readonly health: EndpointHealth,
    private readonly filters: FilterWatch,
  ) {
    this.id = id;
    this.path = path;
    this.inbox = wiring.inbox;
    this.filter = eventFilter(wiring.filter);
    this.middleware = wiring.server.middleware();
  }

  stations(): readonly ReceivingStation[] {
    return this.wiring.stations.receiving();
  }

  watch(changed: () => void): () => void {
    return this.wiring.stations.watch(changed);
  }

  stationOfAgentUser(agentUserId: string): string | undefined {
    return stationOfAgentUser(this.wiring.RED, agentUserId);
  }

  serviceTimeOf(stationKey: string): number | undefined {
    return this.wiring.stations.serviceTimeOf(stationKey);
  }

  onProblem(problem: Problem): void {
    this.problems.problem(problem);
  }

  onRefused(reason: ProblemReason, origin: RequestOrigin): void {
    this.problems.refused(reason, origin);
  }

  onAccepted(problem: Problem | undefined, record: ProvenMessage | DeadLetter): void {
    this.wiring.unseen.accepted(problem);
    this.health.accepted(record);
    if (record.kind === 'event') this.filters.came(record.event);
  }
}

/** One *webhook in* node: an endpoint of the dispatcher, and the consumer of its events. */
export class WebhookIn implements DeployedWebhook {
  readonly path: string | undefined;
  readonly endpointId: string | undefined;
  readonly maxAttempts: number | undefined;
  readonly #selfTests: OwnSelfTest;
  readonly #problems: ProblemOutput;
  readonly #samePhrase: SamePhrase;
  readonly #filters: FilterWatch;
  readonly #sandboxEndpoints: SandboxEndpoints;
  /** These three are undefined without an address. */
  readonly #health: EndpointHealth | undefined;
  readonly #endpoint: Endpoint | undefined;
  readonly #consumption: Consumption | undefined;
  readonly #status: ShownStatus;
  /** Ends the subscriptions of this node. */
  readonly #end: (() => void)[];
  #unwatchServer: () => void = () => undefined;

  constructor(private readonly wiring: Wiring) {
    const { RED, node, properties, server, inbox, stations, unseen, address, changes } = wiring;
    const { handledWhen, maxAttempts } = termsOf(properties);
    this.path = address?.path;
    this.endpointId = address?.id;
    this.maxAttempts = handledWhen === 'settled' ? maxAttempts : undefined;
    this.#selfTests = new OwnSelfTest(wiring);
    this.#problems = new ProblemOutput(wiring, this.#selfTests);
    this.#samePhrase = new SamePhrase(stations, unseen);
    this.#filters = new FilterWatch({
      wanted: wiring.filter,
      inboxes: allInboxes,
      stations: () => stations.all,
      changed: () => changes.notify(),
    });
    this.#sandboxEndpoints = new SandboxEndpoints(node.id);
    let consumer: FlowConsumer | undefined;
    if (address !== undefined) {
      this.#health = this.#healthOf(address.id);
      this.#endpoint = new WebhookEndpoint(wiring, address, this.#problems, this.#health, this.#filters);
      server.dispatcher.add(this.#endpoint);
      consumer = new FlowConsumer(wiring, this.#problems, address.id);
      this.#consumption = inbox.consume(consumer);
    }
    const parts = { samePhrase: this.#samePhrase, filters: this.#filters, consumer, health: this.#health };
    this.#status = new ShownStatus(wiring, parts);
    const showSoon = (): void => this.#status.showSoon();
    this.#end = [
      onFlowsState(RED, 'started', () => this.#flowsStarted()),
      onFlowsState(RED, 'stopping', () => this.#flowsStopping()),
      stations.watch(() => this.#stationsChanged()),
      ...[inbox, unseen].map((watched) => watched.watch(showSoon)),
      changes.add(showSoon),
    ];
    this.#status.show();
  }

  get title(): string {
    const { node, stations } = this.wiring;
    const names = stations.all.map(({ name }) => name).join(', ');
    return node.name || names || (this.path ?? node.id);
  }

  async judgeAgain(): Promise<number> {
    return this.#endpoint === undefined ? 0 : this.wiring.server.dispatcher.judgeAgain(this.#endpoint);
  }

  selfTest(isScheduled = false): Promise<SelfTestReport> {
    return this.#selfTests.run(isScheduled);
  }

  namedAt(stations: ReadonlySet<string>): JudgedIds {
    return this.#filters.namedAt(stations);
  }

  health(): WebhookHealth {
    return this.#status.health();
  }

  /** @param removed true where the node is deleted or disabled */
  async close(removed: boolean): Promise<void> {
    for (const end of this.#end) end();
    this.#flowsStopping();
    this.#status.close();
    if (this.#endpoint !== undefined) this.wiring.server.dispatcher.remove(this.#endpoint);
    this.#sandboxEndpoints.remove();
    if (removed) void this.#health?.forget();
    // So that an ordinary restart leaves no delivery uncertain; a slow disk must not delay it.
    await withTimeout(Promise.all([this.#consumption?.end(removed), problemsKept()]), END_WITHIN);
    this.wiring.claim.release();
  }

  #healthOf(endpointId: string): EndpointHealth {
    const { inbox, properties, stations } = this.wiring;
    const hours = silentAfterOf(properties);
    return new EndpointHealth({
      store: inbox,
      endpointId,
      limit: hours * HOUR,
      onSilent: () =>
        this.#problems.problem(endpointProblem(stations.only, { kind: 'silent' }), { hours: String(hours) }),
      monotonic: () => performance.now(),
      now: Date.now,
    });
  }

  #stationsChanged(): void {
    this.#status.show();
    const begun = this.#samePhrase.begun();
    if (begun !== undefined) this.#problems.problem(begun, { stations: this.#samePhrase.names });
  }

  /**
   * Only now do all nodes of the flow file exist. Waiting events can be sent (earlier they would find no node behind the wire),
   * and the sandbox can be given the endpoints of the stations.
   */
  #flowsStarted(): void {
    const { server, stations } = this.wiring;
    const { path } = this;
    this.#unwatchServer = server.watch(() => this.#status.show());
    // First: this updates the status and releases held requests. Behind a step that fails it would not run,
    // and every alarm would be cut.
    stations.flowsStarted();
    this.#consumption?.resume();
    this.#health?.start();
    this.#filters.start();
    if (path !== undefined) this.#sandboxEndpoints.notify(stations.all, () => loopbackUrl(server, path));
    this.judgeAgain().catch(() => {
      // The store fails, which the status shows already; the next deploy tries again.
    });
  }

  /** Pauses delivery: the nodes behind the wires may close before this one. */
  #flowsStopping(): void {
    this.wiring.stations.flowsStopping();
    this.#health?.stop();
    this.#filters.stop();
    this.#consumption?.pause();
    this.#unwatchServer();
  }
}
