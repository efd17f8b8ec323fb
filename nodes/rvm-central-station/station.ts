import path from 'node:path';
import type { Node, NodeAPI, NodeDef, NodeMessage, NodeStatus } from 'node-red';
import type { StationClient, StationClientOptions, StationState } from '../../lib/cloud/station-client';
import { jitter } from '../../lib/cloud/timing';
import { ChangeListeners } from '../../lib/concurrency/signals';
import { clampTimerMs } from '../../lib/concurrency/timers';
import { RvmError } from '../../lib/error';
import type { CloudVideo } from '../../lib/video/cloud-video';
import {
  isUsablePhrase,
  type ReceivingStation,
  sharePhrase,
} from '../../lib/webhook/proof/receiving-station';
import type { CloudNode, Sandbox, StationCredentials } from '../rvm-cloud/connection';
import { nameClient } from '../support/recent-video';
import { stationKey } from '../support/rules';
import {
  flagOf,
  ownFolder,
  type Properties,
  textOf,
  unsetTogether,
  unsetVariableError,
  unsetVariables,
  type UnsetVariables,
} from '../support/settings';
import { connectionStatus, status, unsetStatus } from '../support/status';
import { SessionLog } from './session-log';

type ClientModule = typeof import('../../lib/cloud/station-client');

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

/** Milliseconds before a sandbox that could not start is tried again: its port may be free by then. */
const RETRY_MS = 5_000;

/** For a text that names several stations. */
export function quotedNames(stations: readonly Station[]): string {
  return stations.map(({ name }) => `"${name}"`).join(', ');
}

/** The same for a status: one order, whichever station shows it. */
export function sortedNames(stations: readonly Station[]): string {
  return [...new Set(stations.map(({ name }) => name))].sort().join(', ');
}

/**
 * Shared by the nodes of one Central Station: one client of the service with one session, its membership in the sandbox where
 * its cloud is that, and the settings by which the receiver proves its alarms. Lives as long as its config node.
 */
export class Station {
  /** Id of its config node. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly isSandbox: boolean;
  /** Unset variables of the station and its cloud; computed once because each alarm reads it. */
  readonly unsetVariables: UnsetVariables | undefined;
  readonly #properties: Properties;
  readonly #watchers = new ChangeListeners();
  readonly #log: SessionLog;
  #state: StationState = { kind: 'idle' };
  #connecting: Promise<StationClient> | undefined;
  #client: StationClient | undefined;
  #closed = false;
  /** Fires the first sign of life if no node has used the client until then. */
  #firstSign: NodeJS.Timeout | undefined;
  /** The sandbox that it has entered, its credentials there, and the endpoints for its alarms. */
  #sandbox: Sandbox | undefined;
  #entered: StationCredentials | undefined;
  #entering: Promise<StationCredentials> | undefined;
  readonly #endpoints = new Map<string, () => string | undefined>();
  #retry: NodeJS.Timeout | undefined;
  /** True once the log says why it is not in the sandbox. */
  #reported = false;
  /** Other stations with the same phrase. */
  #samePhrase: SamePhrase = { as: [], isCertain: false };
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
    this.unsetVariables = unsetTogether(
      unsetVariables(this.#properties, node.credentials),
      cloud?.unsetVariables,
    );
    this.key = stationKey({ key: this.#properties['key'], name: node.name, id: node.id });
    this.name = node.name || this.key;
    this.isSandbox = cloud?.isSandbox === true;
    this.#log = new SessionLog(RED, node, this.name);
    this.#askUnlessUsed();
    if (this.isSandbox && this.unsetVariables === undefined) this.#enterByItself();
  }

  /**
   * The single client of this station, created at first use.
   * @throws RvmError CONFIG_MISSING, BAD_INPUT, NETWORK (sandbox), CANCELLED after close.
   */
  client(): Promise<StationClient> {
    if (this.#closed) return Promise.reject(closedError());
    this.#connecting ??= this.#connect().catch((error: unknown) => {
      this.#connecting = undefined;
      throw error;
    });
    return this.#connecting;
  }

  /**
   * The video of its cloud.
   * @throws RvmError CONFIG_MISSING, BAD_INPUT, NETWORK (sandbox), CANCELLED after close.
   */
  async video(): Promise<CloudVideo> {
    return this.#chosenCloud().video();
  }

  /**
   * Reloads the list of cameras, if the station has a client already.
   * @throws RvmError those of session and transport
   */
  async refreshCameras(): Promise<void> {
    const client = await this.#connecting;
    await client?.listDevices({ fresh: true });
  }

  /** Settings for the receiver, which never judges by an empty phrase: see `notReceiving`. */
  receiving(): ReceivingStation {
    const isWhole = this.unsetVariables === undefined;
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
    if (this.unsetVariables !== undefined) return { variables: this.unsetVariables };
    if (this.isSandbox && this.#entered === undefined)
      return this.#state.kind === 'refused' ? 'refused' : 'not-ready';
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

  /**
   * Sets the endpoint for alarms of this station in the sandbox, now or as soon as it has entered; does nothing with a real
   * service.
   */
  setSandboxEndpoint(id: string, url: () => string | undefined): void {
    if (this.#closed || !this.isSandbox) return;
    this.#endpoints.set(id, url);
    this.#sandbox?.setEndpoint(id, { station: this.key, url });
  }

  removeSandboxEndpoint(id: string): void {
    this.#endpoints.delete(id);
    this.#sandbox?.removeEndpoint(id);
  }

  /** Calls `changed` whenever `status` or `notReceiving` may have changed. Returns a function that ends this. */
  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  /**
   * Calls `changed` when the status may have changed, until the node closes. Opens the session and loads the list of cameras at
   * once, so that the first alarm finds its camera without waiting for a login; a failure shows in the status.
   */
  serve(node: Node, changed: () => void): void {
    node.on('close', this.watch(changed));
    this.#use((client) => client.listDevices());
  }

  /** State of the session, as every node of this station shows it. */
  status(): NodeStatus {
    if (this.unsetVariables !== undefined) return unsetStatus(this.RED, this.unsetVariables);
    if (this.cloud?.isForbidden === true) return status(this.RED, 'sandboxForbidden');
    const session = connectionStatus(this.RED, this.#state, this.isSandbox);
    const { as } = this.#samePhrase;
    if (as.length === 0 || TROUBLE.includes(this.#state.kind)) return session;
    return status(this.RED, 'samePhrase', { stations: sortedNames([this, ...as]) });
  }

  /** True while only probes are sent to the service. */
  get isHeldUp(): boolean {
    return this.#client?.isHeldUp === true;
  }

  /** State of the session, as far as it is known. */
  get serviceState(): StationState {
    return this.#state;
  }

  /** True where the station has an Agent User to log in with. Without one it only receives. */
  get canCall(): boolean {
    if (this.unsetVariables !== undefined || this.cloud?.isForbidden === true) return false;
    const { username = '', password = '' } = this.node.credentials ?? {};
    return this.isSandbox || (username !== '' && password !== '');
  }

  /** Milliseconds by which the clock of the service is ahead of this machine; undefined before the first answer with a time. */
  get clockAhead(): number | undefined {
    return this.#client?.clockAhead;
  }

  /** Sends a sign of life now, where the station can call the service. The result shows in the state. */
  askForLife(): void {
    if (this.canCall) this.#use((client) => client.askForLife());
  }

  /** Since when the service is out of reach; undefined where it is reachable or was never called. */
  get offlineSince(): Date | undefined {
    return this.#state.kind === 'offline' ? this.#state.since : undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watchers.clear();
    clearTimeout(this.#retry);
    clearTimeout(this.#firstSign);
    this.#sandbox?.removeStation(this.key);
    const client = await this.#connecting?.catch(() => undefined);
    await client?.close();
  }

  async #connect(): Promise<StationClient> {
    if (this.unsetVariables !== undefined) throw unsetVariableError(this.unsetVariables);
    const connection = await this.#chosenCloud().connection();
    const { username = '', password = '' } =
      (this.isSandbox ? await this.#enter() : this.node.credentials) ?? {};

    // Loaded lazily: registering the node types must not cost the memory of an HTTP client.
    const { StationClient } = require('../../lib/cloud/station-client') as ClientModule;
    const { key } = this;
    const client = new StationClient({ ...connection, key, username, password, ...this.#hints() });
    this.#client = client;
    client.onState((state) => {
      this.#state = state;
      this.#log.hear(state, client.unaskedVersion !== undefined);
      this.#watchers.notify();
    });
    client.onRefresh((error) => this.#log.refreshed(error));
    nameClient(client, key);
    if (!this.#closed) return client;
    await client.close();
    throw closedError();
  }

  /** @throws RvmError CONFIG_MISSING */
  #chosenCloud(): CloudNode {
    if (this.cloud !== undefined) return this.cloud;
    throw new RvmError(
      'CONFIG_MISSING',
      `The Central Station "${this.name}" has no cloud: choose one in its settings.`,
    );
  }

  /** None for the sandbox: its cameras have other ids after each start, so cached hints would be useless. */
  #hints(): Pick<StationClientOptions, 'hints'> {
    if (this.isSandbox) return {};
    const folder = path.join(ownFolder(this.RED), 'hints');
    return { hints: { folder, onFault: (error) => this.#log.hintsNotKept(error) } };
  }

  /**
   * Starts the sign of life for a station that no node uses to call the service, for example one that only receives. For all
   * others their client does this.
   */
  #askUnlessUsed(): void {
    const { signOfLifeMs = 0 } = this.cloud ?? {};
    if (signOfLifeMs <= 0 || !this.canCall) return;
    this.#firstSign = setTimeout(
      () => {
        if (this.#connecting === undefined) this.askForLife();
      },
      clampTimerMs(jitter(signOfLifeMs)),
    );
    this.#firstSign.unref();
  }

  #use(work: (client: StationClient) => Promise<unknown>): void {
    this.client()
      .then(work)
      .catch((error: unknown) => this.#failed(error));
  }

  /** A refusal by the service is in the state of the client already; what arrives here is a fault of the settings. */
  #failed(error: unknown): void {
    if (this.#state.kind !== 'idle' || !(error instanceof RvmError) || error.code === 'CANCELLED') return;
    this.#state = { kind: 'refused', error };
    if (!this.#reported) this.#log.hear(this.#state);
    this.#watchers.notify();
  }

  /**
   * Enters the sandbox once, and starts that where necessary. Empty settings are replaced by the credentials of the sandbox.
   * @throws RvmError CONFIG_MISSING, BAD_INPUT, NETWORK, CANCELLED after close.
   */
  #enter(): Promise<StationCredentials> {
    if (this.#entered !== undefined) return Promise.resolve(this.#entered);
    this.#entering ??= this.#tryToEnter().finally(() => {
      this.#entering = undefined;
    });
    return this.#entering;
  }

  /** Enters without a waiting caller, and reports once why it could not. */
  #enterByItself(): void {
    this.#enter().catch((error: unknown) => {
      if (this.#closed || this.#reported || (error instanceof RvmError && error.code === 'CANCELLED')) return;
      this.#reported = true;
      this.node.error(error instanceof Error ? error.message : String(error));
      this.#failed(error);
    });
  }

  /** Retries after a failed start, because a station that only receives makes no call that would retry. */
  async #tryToEnter(): Promise<StationCredentials> {
    try {
      const sandbox = await this.#chosenCloud().sandbox();
      if (this.#closed) throw closedError();
      return this.#settleIn(sandbox);
    } catch (error) {
      if (error instanceof RvmError && error.code === 'NETWORK' && !this.#closed) {
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => this.#enterByItself(), RETRY_MS);
        this.#retry.unref();
      }
      throw error;
    }
  }

  #settleIn(sandbox: Sandbox): StationCredentials {
    clearTimeout(this.#retry);
    const { username, password, secret } = this.node.credentials ?? {};
    const settings = { name: this.name, username, password, secret, scheme: this.#scheme() };
    const credentials = sandbox.setStation(this.key, settings);
    for (const [id, url] of this.#endpoints) sandbox.setEndpoint(id, { station: this.key, url });
    this.#sandbox = sandbox;
    this.#entered = credentials;
    this.#reported = false;
    if (this.#state.kind === 'refused') this.#state = { kind: 'idle' };
    this.#watchers.notify();
    // Its phrase is known only now, after all nodes are built.
    checkPhrases(this.RED);
    return credentials;
  }

  #secret(): string {
    if (this.clash) return '';
    return (this.isSandbox ? this.#entered : this.node.credentials)?.secret ?? '';
  }

  #scheme(): 'http' | 'https' {
    return textOf(this.#properties, 'scheme', 'https') === 'http' ? 'http' : 'https';
  }
}

function closedError(): RvmError {
  return new RvmError('CANCELLED', 'The Central Station was closed by a deploy.');
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
