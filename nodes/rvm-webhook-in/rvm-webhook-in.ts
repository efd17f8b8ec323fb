import type { Node, NodeAPI, NodeDef, NodeMessage } from 'node-red';
import type { Consumption, Delivery, DeliveryTerms, Inbox } from '../../lib/inbox/inbox';
import { RvmError } from '../../lib/error';
import type { Endpoint } from '../../lib/webhook/endpoint';
import { within } from '../../lib/work/within';
import { messageOf } from '../../lib/message/event-message';
import {
  acceptanceProblem,
  blockedProblem,
  deadProblem,
  uncertainProblem,
  type Problem,
} from '../../lib/webhook/problem';
import { PendingSelfTests, selfTest } from '../../lib/webhook/self-test/self-test';
import type { SelfTestReport } from '../../lib/webhook/self-test/self-test-steps';
import { readyStations, loneStation, type ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { stationById, stationOfAgentUser, stationsOfCloud } from '../rvm-central-station/find-station';
import { lackStatus } from '../rvm-central-station/lack';
import type { Station } from '../rvm-central-station/station';
import type { InboxNode } from '../rvm-inbox/inbox-node';
import { DEFAULTS, hasSettler, leaveInbox, useInbox } from '../rvm-inbox/inboxes';
import { onFlows } from '../support/flow-run';
import { nodeIsNewEnough } from '../support/node-version';
import { registerNode } from '../support/register';
import { firstUnsetVariable, numberOf, textOf, type Properties } from '../support/settings';
import { lastAlarmStatus, status, type StatusName } from '../support/status';
import { isWired } from '../support/wires';
import { chosenServer } from './chosen-server';
import { cutAlarms } from './cut-alarms';
import { nodeRedServer } from './node-red-server';
import { POSSIBLE_PATH } from './path-rule';
import { addSelfTest, type DeployedWebhook, type WebhookNode } from './webhook-node';
import type { WebhookServer } from '../support/webhook-server';

const PROBLEMS_OUTPUT = 2;
/** Between two statuses, in milliseconds. */
const STATUS_EVERY = 250;
/** The end of a node waits for its inbox at most this long, in milliseconds. */
const END_WITHIN = 2000;
/** Each is held in memory. */
const MOST_IN_FLIGHT = 10_000;

/** For connection and answer of a self-test, in milliseconds. */
const SELF_TEST_TIMEOUT = 10_000;

const HANDLED_WHEN: readonly string[] = ['', 'sent', 'settled'];

function termsOf(properties: Properties): DeliveryTerms {
  return {
    handledWhen: textOf(properties, 'handledWhen') === 'settled' ? 'settled' : 'sent',
    redeliverAfter: numberOf(properties, 'redeliverAfter', 120, 1) * 1000,
    maxAttempts: Math.floor(numberOf(properties, 'maxAttempts', 12, 1)),
    maxInFlight: Math.min(MOST_IN_FLIGHT, Math.floor(numberOf(properties, 'maxInFlight', 100, 1))),
  };
}

/** One `webhook in` node: an endpoint of the dispatcher, the consumer of its events, and its status. */
class WebhookIn implements DeployedWebhook {
  readonly #properties: Properties;
  /** The variable that its own properties lack. */
  readonly #ownUnsetVariable: string | undefined;
  readonly #inboxNode: InboxNode | undefined;
  readonly #inbox: Inbox;
  readonly #consumption: Consumption;
  readonly #endpoint: Endpoint | undefined;
  /** The Central Stations this node serves, from one start of the flows to their stop. */
  #stations: readonly Station[] = [];
  /** True while the flows run: only then are events delivered. */
  #running = false;
  readonly #sandboxEndpoints = new Map<string, Station>();
  readonly #endRun: (() => void)[];
  #unwatch: (() => void)[] = [];
  readonly #unwatchInbox: () => void;
  #statusTimer: NodeJS.Timeout | undefined;
  #statusShownAt = -Infinity;
  #fault: StatusName | undefined;
  #lastAt: Date | undefined;
  #unseenProblems = 0;
  readonly #selfTests = new PendingSelfTests();

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    config: NodeDef,
    private readonly server: WebhookServer,
  ) {
    this.#properties = { ...config };
    this.#ownUnsetVariable = firstUnsetVariable(this.#properties);
    this.#inboxNode = this.#findInboxNode();
    this.#inbox = useInbox(RED, this.#inboxNode?.usableSettings() ?? DEFAULTS, this);
    this.#consumption = this.#consume();
    this.#endpoint = this.#open();
    const handledWhen = textOf(this.#properties, 'handledWhen', 'sent');
    if (!HANDLED_WHEN.includes(handledWhen) && this.#unsetVariable() === undefined)
      this.#refuse('wrongSetting');
    this.#endRun = [
      onFlows(RED, 'started', () => this.#flowsStarted()),
      onFlows(RED, 'stopping', () => this.#flowsStopping()),
    ];
    this.#unwatchInbox = this.#inbox.watch(() => this.#showStatusSoon());
    this.#showStatus();
  }

  async close(): Promise<void> {
    for (const end of this.#endRun) end();
    this.#flowsStopping();
    this.#unwatchInbox();
    clearTimeout(this.#statusTimer);
    if (this.#endpoint !== undefined) this.server.dispatcher.remove(this.#endpoint);
    for (const [id, station] of this.#sandboxEndpoints) station.removeSandboxEndpoint(id);
    // So that an ordinary restart leaves nothing in doubt; a slow disk must not hold it up.
    await within(this.#consumption.end(), END_WITHIN);
    leaveInbox(this);
  }

  get path(): string | undefined {
    return this.#endpoint?.path;
  }

  async judgeAgain(): Promise<number> {
    return this.#endpoint === undefined ? 0 : this.server.dispatcher.judgeAgain(this.#endpoint);
  }

  async selfTest(): Promise<SelfTestReport> {
    const [station] = readyStations(this.#receivingStations()).ready;
    const url = this.#address();
    if (station === undefined || url === undefined) {
      throw new RvmError(
        'CONFIG_MISSING',
        'This webhook cannot take messages yet: the status of the node says why. Deploy it first.',
      );
    }
    const { scheme, secret: phrase } = station;
    return selfTest({ url, scheme, phrase, pending: this.#selfTests, timeoutMs: SELF_TEST_TIMEOUT });
  }

  /** As the service sees it, where that is known; else as this machine does. */
  #address(): string | undefined {
    const { path } = this;
    if (path === undefined) return undefined;
    const base = textOf(this.#properties, 'publicUrl').trim().replace(/\/+$/, '');
    return base === '' ? this.#loopbackUrl(path) : `${base}${path}`;
  }

  #findInboxNode(): InboxNode | undefined {
    const id = textOf(this.#properties, 'inbox');
    if (id === '') return undefined;
    const node = this.RED.nodes.getNode(id) as InboxNode | null | undefined;
    // The default one takes its place: better there than nowhere.
    if (!node) this.node.error(this.RED._('rvm-webhook-in.errors.noInbox'));
    return node ?? undefined;
  }

  #consume(): Consumption {
    return this.#inbox.consume({
      endpointId: this.node.id,
      ...termsOf(this.#properties),
      deliver: (delivery) => this.#deliver(delivery),
      onDead: (delivery, reason, note) => this.#problem(deadProblem(delivery, reason, note)),
      onBlocked: (waiting) => this.#problem(blockedProblem(waiting, loneStation(this.#stations), new Date())),
      onReadBack: (record, acceptance) => {
        const problem = acceptanceProblem(record, acceptance);
        if (problem !== undefined) this.#problem(problem);
      },
    });
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
    const own = textOf(this.#properties, 'path');
    // The status names it. One that is not set elsewhere takes no path away: what comes is cut, and sent again.
    if (firstUnsetVariable({ path: own }) !== undefined) return undefined;
    const path = this.server.fullPath(own);
    if (path === undefined) return this.#refuse('noHttpNodes');
    if (own.replace(/\//g, '') === '') return this.#refuse('notConfigured');
    if (!POSSIBLE_PATH.test(own)) return this.#refuse('pathImpossible');
    return this.server.isReserved(path) ? this.#refuse('pathReserved') : path;
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
    this.#running = true;
    const stations = this.#findStations();
    this.#stations = stations;
    this.#consumption.resume();
    this.#unwatch = [this.server, ...stations].map((watched) => watched.watch(() => this.#showStatus()));
    const { path } = this;
    if (path !== undefined) {
      for (const station of stations) {
        const id = `${this.node.id}/${station.key}`;
        this.#sandboxEndpoints.set(id, station);
        station.setSandboxEndpoint(id, () => this.#loopbackUrl(path));
      }
    }
    this.judgeAgain().catch(() => {
      // The store fails, which is shown already; the next deploy tries again.
    });
    this.#showStatus();
  }

  /** From here on events wait: the nodes behind the wires may close before this one. */
  #flowsStopping(): void {
    this.#running = false;
    this.#consumption.pause();
    for (const unwatch of this.#unwatch) unwatch();
    this.#unwatch = [];
  }

  #unsetVariable(): string | undefined {
    return this.#ownUnsetVariable ?? this.#inboxNode?.unsetVariable;
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
    if (!this.#running || this.#unsetVariable() !== undefined) return [];
    return this.#stations.map((station) => station.receiving());
  }

  /** False where nothing is wired to the output of the event: then it is handled. */
  #deliver(delivery: Delivery): boolean {
    const uncertain = uncertainProblem(delivery);
    if (uncertain !== undefined) this.#problem(uncertain);
    const now = new Date();
    const { output, msg } = messageOf(delivery, now);
    this.#lastAt = now;
    this.#showStatusSoon();
    if (!isWired(this.node, output)) return false;
    this.#sendTo(output, { ...msg });
    return true;
  }

  #problem(problem: Problem): void {
    // Also as `blocked`, where the store fails: it has arrived.
    this.#selfTests.came(problem.messageId ?? '');
    if (isWired(this.node, PROBLEMS_OUTPUT)) {
      this.#sendTo(PROBLEMS_OUTPUT, { topic: problem.kind, payload: problem });
      return;
    }
    if (problem.kind === 'self-test') return;
    // The count of what is blocked is that of the events that wait.
    this.#unseenProblems += problem.kind === 'blocked' ? 1 : problem.count;
    this.node.warn(
      this.RED._('rvm-webhook-in.log.problem', { kind: problem.kind, reason: problem.reason ?? '' }),
    );
    this.#showStatusSoon();
  }

  #sendTo(output: number, msg: NodeMessage): void {
    const messages: (NodeMessage | null)[] = [null, null, null];
    messages[output] = msg;
    this.node.send(messages);
  }

  /** A hundred events in a second are one change of the status, not a hundred. */
  #showStatusSoon(): void {
    const wait = this.#statusShownAt + STATUS_EVERY - performance.now();
    if (wait <= 0) return this.#showStatus();
    this.#statusTimer ??= setTimeout(() => this.#showStatus(), wait);
  }

  #showStatus(): void {
    clearTimeout(this.#statusTimer);
    this.#statusTimer = undefined;
    this.#statusShownAt = performance.now();
    this.node.status(this.#status());
  }

  #status(): ReturnType<typeof status> {
    const { RED } = this;
    if (this.#fault !== undefined) return status(RED, this.#fault);
    const unset = this.#unsetVariable();
    if (unset !== undefined) return status(RED, 'variableNotSet', { variable: unset });
    const ofServer = this.server.status();
    if (ofServer !== undefined) return ofServer;
    const stations = this.#running ? this.#stations : this.#findStations();
    if (stations.length === 0) return status(RED, 'notConfigured');
    for (const station of stations) {
      const lack = lackStatus(RED, station);
      if (lack !== undefined) return lack;
    }
    // Stations that share a phrase cannot be told apart, so that none may be left to judge.
    const waiting = !this.#running || stations.some((station) => station.notReceiving() === 'not-ready');
    if (!waiting && readyStations(this.#receivingStations()).ready.length === 0)
      return status(RED, 'notConfigured');
    if (this.#inbox.state().durable === false) return status(RED, 'notDurable');
    if (this.#inboxNode?.isRefused() ?? textOf(this.#properties, 'inbox') !== '')
      return status(RED, 'wrongSetting');
    if (this.#running && termsOf(this.#properties).handledWhen === 'settled' && !hasSettler())
      return status(RED, 'noSettleEvent');
    if (this.#unseenProblems > 0) return status(RED, 'problems', { count: this.#unseenProblems });
    const backlog = this.#inbox.waiting(this.node.id);
    if (backlog > 0) return status(RED, 'backlog', { count: backlog });
    const isSandbox = stations.some((station) => station.isSandbox);
    return lastAlarmStatus(RED, this.#lastAt, isSandbox);
  }
}

export = (RED: NodeAPI): void => {
  const isNewEnough = nodeIsNewEnough();
  if (isNewEnough) {
    nodeRedServer(RED);
    addSelfTest(RED);
  }

  const build = (node: WebhookNode, config: NodeDef): void => {
    const server = chosenServer(RED, node, config);
    if (server === undefined) return;
    const webhook = new WebhookIn(RED, node, config, server);
    node.webhook = webhook;
    node.on('close', (_removed: boolean, done: () => void) => {
      webhook.close().then(done, done);
    });
  };
  registerNode(RED, 'rvm-webhook-in', build, undefined, isNewEnough ? undefined : cutAlarms(RED));
};
