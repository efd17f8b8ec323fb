import type { Node, NodeAPI, NodeDef, NodeMessage, NodeStatus } from 'node-red';
import type { StationClient, StationState } from '../../lib/cloud/station-client';
import { ChangeListeners } from '../../lib/concurrency/signals';
import { RvmError } from '../../lib/error';
import type { CloudVideo } from '../../lib/video/cloud-video';
import {
  isUsablePhrase,
  type ReceivingStation,
  sharePhrase,
} from '../../lib/webhook/proof/receiving-station';
import type { CloudNode } from '../rvm-cloud/connection';
import { onFlowsState } from '../support/flows';
import { stationKey } from '../support/rules';
import {
  flagOf,
  type Properties,
  textOf,
  unsetTogether,
  unsetVariableError,
  unsetVariables,
  type UnsetVariables,
} from '../support/settings';
import { connectionStatus, status, unsetStatus } from '../support/status';
import { SandboxEntry } from './sandbox-entry';
import { cloudMissing, StationConnection } from './station-connection';

interface CentralStationCredentials {
  username?: string;
  password?: string;
  secret?: string;
  previousSecret?: string;
}

export interface CentralStationNode extends Node<CentralStationCredentials> {
  station: Station;
}

/** The other stations that have the same phrase. */
interface SamePhrase {
  as: readonly Station[];
  /** False while the phrase of another station is not known yet. */
  isCertain: boolean;
}

/** Why a station cannot judge a webhook message. */
type NotReceiving = 'no-secret' | 'not-ready' | 'not-configured' | 'refused' | { variables: UnsetVariables };

/** States of the session that take precedence over a fault that concerns alarms only. */
const TROUBLE: readonly StationState['kind'][] = ['offline', 'refused'];

/** For a text that names several stations. */
export function quotedNames(stations: readonly Station[]): string {
  return stations.map(({ name }) => `"${name}"`).join(', ');
}

/** The same for a status: one order, whichever station shows it. */
export function sortedNames(stations: readonly Station[]): string {
  return [...new Set(stations.map(({ name }) => name))].sort().join(', ');
}

/**
 * Shared by the nodes of one Central Station: one client of the service with one session, and the settings by which the
 * receiver proves its alarms. Lives as long as its config node.
 */
export class Station {
  /** Id of its config node. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly isSandbox: boolean;
  readonly #properties: Properties;
  /** Unset variables of the station and its cloud; computed once because each alarm reads it. */
  readonly #unset: UnsetVariables | undefined;
  readonly #watchers = new ChangeListeners();
  readonly #connection: StationConnection;
  /** Only where the cloud is the sandbox. */
  readonly #inSandbox: SandboxEntry | undefined;
  /** Other stations with the same phrase. */
  #samePhrase: SamePhrase = { as: [], isCertain: false };
  /** Called when the phrase becomes known after all nodes are built. */
  onPhraseKnown: () => void = () => undefined;
  /** True where another station has the same key, or the key is invalid: their events could not be told apart. */
  clash = false;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: CentralStationNode,
    config: NodeDef,
    private readonly cloud: CloudNode | undefined,
  ) {
    this.id = node.id;
    this.#properties = { ...config };
    this.#unset = unsetTogether(unsetVariables(this.#properties, node.credentials), cloud?.unsetVariables);
    this.key = stationKey({ key: this.#properties['key'], name: node.name, id: node.id });
    this.name = node.name || this.key;
    this.isSandbox = cloud?.isSandbox === true;
    this.#inSandbox = cloud?.isSandbox ? this.#sandboxEntry(cloud) : undefined;
    this.#connection = this.#newConnection();
    if (this.#unset === undefined) this.#inSandbox?.enterByItself();
  }

  /** Unset variables of the station and its cloud. */
  get unsetVariables(): UnsetVariables | undefined {
    return this.#unset;
  }

  /**
   * The single client of this station, created at first use.
   * @throws RvmError CONFIG_MISSING, BAD_INPUT, NETWORK (sandbox), CANCELLED after close.
   */
  client(): Promise<StationClient> {
    return this.#connection.client();
  }

  /**
   * The video of its cloud.
   * @throws RvmError CONFIG_MISSING, BAD_INPUT, NETWORK (sandbox), CANCELLED after close.
   */
  video(): Promise<CloudVideo> {
    if (this.cloud !== undefined) return this.cloud.video();
    return Promise.reject(cloudMissing(this.name));
  }

  /**
   * Reloads the list of cameras, if the station has a client already.
   * @throws RvmError those of session and transport
   */
  refreshCameras(): Promise<void> {
    return this.#connection.refreshCameras();
  }

  /** Settings for the receiver, which never judges by an empty phrase: see `notReceiving`. */
  receiving(): ReceivingStation {
    const isWhole = this.#unset === undefined;
    return {
      key: this.key,
      name: this.name,
      scheme: this.#scheme(),
      secret: isWhole ? this.#secret() : '',
      previousSecret: isWhole ? (this.node.credentials?.previousSecret ?? '') : '',
      agentUserId: textOf(this.#properties, 'agentUserId'),
      acceptBareSignature: flagOf(this.#properties, 'acceptBareSignature'),
      sandbox: this.isSandbox,
    };
  }

  /** Why this station cannot judge a message; for the status of the nodes that serve it. */
  notReceiving(): NotReceiving | undefined {
    if (this.#unset !== undefined) return { variables: this.#unset };
    if (this.#inSandbox !== undefined && this.#inSandbox.credentials === undefined) {
      return this.#connection.state.kind === 'refused' ? 'refused' : 'not-ready';
    }
    if (this.clash) return 'not-configured';
    return isUsablePhrase(this.#secret()) ? undefined : 'no-secret';
  }

  get samePhrase(): SamePhrase {
    return this.#samePhrase;
  }

  /** Logs each new duplicate. */
  setSamePhrase(same: SamePhrase): void {
    const before = this.#samePhrase;
    const others = quotedNames(same.as);
    const isOther = quotedNames(before.as) !== others;
    this.#samePhrase = same;
    if (isOther && others !== '')
      this.node.error(this.RED._('rvm-central-station.log.samePhrase', { name: this.name, others }));
    if (isOther || before.isCertain !== same.isCertain) this.#watchers.notify();
  }

  /** Registers with the sandbox the endpoint for alarms of this station; does nothing with a real service. */
  setSandboxEndpoint(id: string, url: () => string | undefined): void {
    if (!this.#connection.isClosed) this.#inSandbox?.setEndpoint(id, url);
  }

  removeSandboxEndpoint(id: string): void {
    this.#inSandbox?.removeEndpoint(id);
  }

  /** Calls `changed` whenever `status` or `notReceiving` may have changed. Returns a function that ends this. */
  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  /**
   * Calls `changed` when the status may have changed, until the node closes. Opens the session at once, so that the first alarm
   * finds its camera without waiting for a login.
   */
  serve(node: Node, changed: () => void): void {
    node.on('close', this.watch(changed));
    this.#connection.open();
  }

  /** State of the session, as every node of this station shows it. */
  status(): NodeStatus {
    if (this.#unset !== undefined) return unsetStatus(this.RED, this.#unset);
    if (this.cloud?.isForbidden === true) return status(this.RED, 'sandboxForbidden');
    const { state } = this.#connection;
    const session = connectionStatus(this.RED, state, this.isSandbox);
    const { as } = this.#samePhrase;
    if (as.length === 0 || TROUBLE.includes(state.kind)) return session;
    return status(this.RED, 'samePhrase', { stations: sortedNames([this, ...as]) });
  }

  /** True while only probes are sent to the service. */
  get isHeldUp(): boolean {
    return this.#connection.isHeldUp;
  }

  /** State of the session, as far as it is known. */
  get serviceState(): StationState {
    return this.#connection.state;
  }

  /** True where the station has an Agent User to log in with. Without one it only receives. */
  get canCall(): boolean {
    return this.#connection.canCall;
  }

  /** Milliseconds by which the clock of the service is ahead of this machine; undefined before the first answer with a time. */
  get clockAhead(): number | undefined {
    return this.#connection.clockAhead;
  }

  /** Sends a sign of life now, where the station can call the service. The result shows in the state. */
  askForLife(): void {
    this.#connection.askForLife();
  }

  /** Since when the service is out of reach; undefined where it is reachable or was never called. */
  get offlineSince(): Date | undefined {
    const { state } = this.#connection;
    return state.kind === 'offline' ? state.since : undefined;
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    this.#inSandbox?.close();
    await this.#connection.close();
  }

  #newConnection(): StationConnection {
    return new StationConnection(this.RED, this.node, {
      key: this.key,
      name: this.name,
      unsetVariables: this.#unset,
      cloud: this.cloud,
      credentials: this.node.credentials ?? {},
      agentUser: async () => (await this.#inSandbox?.enter()) ?? this.node.credentials ?? {},
      changed: () => this.#watchers.notify(),
    });
  }

  #sandboxEntry(cloud: CloudNode): SandboxEntry {
    const { username, password, secret } = this.node.credentials ?? {};
    const settings = { name: this.name, username, password, secret, scheme: this.#scheme() };
    return new SandboxEntry(cloud, this.key, settings, {
      entered: () => this.#sandboxEntered(),
      failed: (error) => this.#connection.sandboxFailed(error),
    });
  }

  #sandboxEntered(): void {
    this.#connection.sandboxEntered();
    this.onPhraseKnown();
  }

  #secret(): string {
    if (this.clash) return '';
    if (this.#inSandbox !== undefined) return this.#inSandbox.credentials?.secret ?? '';
    return this.node.credentials?.secret ?? '';
  }

  #scheme(): 'http' | 'https' {
    return textOf(this.#properties, 'scheme', 'https') === 'http' ? 'http' : 'https';
  }
}

/** Status of a node whose station cannot judge a message; undefined where the station can, or will soon. */
export function missingStatus(RED: NodeAPI, station: Station): NodeStatus | undefined {
  const lack = station.notReceiving();
  switch (lack) {
    case undefined:
    case 'not-ready':
      return undefined;
    case 'no-secret':
      return status(RED, 'noSecret');
    case 'refused':
      return station.status();
    case 'not-configured':
      return status(RED, 'notConfigured');
    default:
      return unsetStatus(RED, lack.variables);
  }
}

const CURES: Record<Extract<NotReceiving, string>, string> = {
  'no-secret': 'has no Shared Secret Phrase to judge a message by: enter it in its settings.',
  'not-ready': 'is not in the sandbox yet: try again in a moment.',
  'not-configured': 'has no short name of its own: give each Central Station another.',
  refused: 'is not in the sandbox: its status says why.',
};

/** Error for the flow: why a station cannot judge a message. */
export function missingError(station: Station): RvmError {
  const lack = station.notReceiving() ?? 'not-ready';
  if (typeof lack === 'object') return unsetVariableError(lack.variables);
  return new RvmError('CONFIG_MISSING', `The Central Station "${station.name}" ${CURES[lack]}`);
}

const TYPE = 'rvm-central-station';

/** The live station of a config node id, if there is one. */
export function stationById(RED: NodeAPI, id: string): Station | undefined {
  if (id === '') return undefined;
  const node = RED.nodes.getNode(id) as CentralStationNode | undefined | null;
  return node?.station;
}

/** Every live station, in the order of the flow file. */
export function allStations(RED: NodeAPI): Station[] {
  return stationsWhere(RED, () => true);
}

/** Live stations of one cloud. */
export function stationsOfCloud(RED: NodeAPI, cloudId: string): Station[] {
  return stationsWhere(RED, (config) => config.cloud === cloudId);
}

/** Key of the station of this process whose Agent User has this id; by it a foreign event is recognised. */
export function stationOfAgentUser(RED: NodeAPI, agentUserId: string): string | undefined {
  const wanted = agentUserId.toLowerCase();
  if (wanted === '') return undefined;
  const receiving = allStations(RED).map((station) => station.receiving());
  return receiving.find((station) => station.agentUserId.toLowerCase() === wanted)?.key;
}

/**
 * The station that is chosen in a node.
 * @throws RvmError CONFIG_MISSING where it is missing or disabled.
 */
export function chosenStation(RED: NodeAPI, id: string): Station {
  const station = stationById(RED, id);
  if (station !== undefined) return station;
  throw new RvmError(
    'CONFIG_MISSING',
    'The Central Station of this node is missing or disabled: choose another.',
  );
}

/**
 * The station of a message: the node's property, else `msg.station` (a key), else the station of the event.
 * @throws RvmError CONFIG_MISSING where none of them names a live station.
 */
export function stationOfMessage(RED: NodeAPI, configuredId: string, msg: NodeMessage): Station {
  if (configuredId !== '') return chosenStation(RED, configuredId);
  const key = textIn(msg, 'station') ?? textIn(msg.webhook, 'station');
  if (key === undefined) {
    throw new RvmError(
      'CONFIG_MISSING',
      'No Central Station: choose one in this node, or set msg.station to the short name of one.',
    );
  }
  const station = allStations(RED).find((candidate) => candidate.key === key);
  if (station !== undefined) return station;
  throw new RvmError(
    'CONFIG_MISSING',
    'No Central Station has the short name that the message gives: check msg.station.',
  );
}

function stationsWhere(RED: NodeAPI, wanted: (config: { cloud?: unknown }) => boolean): Station[] {
  const stations: Station[] = [];
  RED.nodes.eachNode((config) => {
    if (config.type !== TYPE || !wanted(config as { cloud?: unknown })) return;
    const station = stationById(RED, config.id);
    if (station !== undefined) stations.push(station);
  });
  return stations;
}

function textIn(holder: unknown, name: string): string | undefined {
  if (holder === null || typeof holder !== 'object') return undefined;
  const value = (holder as Record<string, unknown>)[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Status source of a node without a station of its own: it follows the station of the last message, so that a service that
 * recovers shows without another message. Before the first message it shows the only station, if there is exactly one. A deploy
 * that does not touch the node may replace or remove the station.
 */
export class LastStation {
  #station: Station | undefined;
  #unwatch: (() => void) | undefined;
  #changed: () => void = () => undefined;

  constructor(
    private readonly RED: NodeAPI,
    node: Node,
  ) {
    node.on(
      'close',
      onFlowsState(RED, 'started', () => this.#lookAgain()),
    );
    node.on('close', () => this.#unwatch?.());
  }

  /** Sets the callback for a possible change of the status. */
  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  /** Status of the station; empty where there is none. */
  status(): NodeStatus {
    return this.#station?.status() ?? {};
  }

  follow(station: Station): void {
    if (station === this.#station) return;
    this.#unwatch?.();
    this.#station = station;
    this.#unwatch = station.watch(() => this.#changed());
    this.#changed();
  }

  #lookAgain(): void {
    const all = allStations(this.RED);
    const key = this.#station?.key;
    const live = key === undefined && all.length === 1 ? all[0] : all.find((station) => station.key === key);
    if (live !== undefined) return this.follow(live);
    this.#unwatch?.();
    this.#station = undefined;
    this.#changed();
  }
}

/**
 * Reports stations with the same phrase, because phrases tell stations apart. Runs at each start of the flows, and when a
 * station gets its phrase later, as in the sandbox.
 */
export function checkPhrases(RED: NodeAPI): void {
  const all = allStations(RED).map((station) => ({ station, receiving: station.receiving() }));
  const isCertain = all.every(({ station }) => station.notReceiving() !== 'not-ready');
  for (const mine of all) {
    const others = all.filter((other) => other !== mine && sharePhrase(mine.receiving, other.receiving));
    mine.station.setSamePhrase({ as: others.map(({ station }) => station), isCertain });
  }
}
