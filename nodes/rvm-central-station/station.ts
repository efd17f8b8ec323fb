import path from 'node:path';
import type { Node, NodeAPI, NodeDef, NodeStatus } from 'node-red';
import type { StationClient, StationClientOptions, StationState } from '../../lib/cloud/station-client';
import { spread } from '../../lib/cloud/timing';
import { timerMs } from '../../lib/concurrency/timer-limit';
import { RvmError } from '../../lib/error';
import { isUsablePhrase, type ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { Watchers } from '../../lib/concurrency/watchers';
import type { CloudNode } from '../rvm-cloud/cloud-node';
import { ownFolder } from '../support/own-folder';
import {
  flagOf,
  textOf,
  unsetTogether,
  unsetVariableError,
  unsetVariables,
  type Properties,
  type UnsetVariables,
} from '../support/settings';
import { connectionStatus, status, unsetStatus } from '../support/status';
import { keyFromName } from './key';
import { SandboxEntry } from './sandbox-entry';
import { StateLog } from './state-log';
import { VersionLog } from './version-log';

type ClientModule = typeof import('../../lib/cloud/station-client');

export interface CentralStationCredentials {
  username?: string;
  password?: string;
  secret?: string;
  previousSecret?: string;
}

export interface CentralStationNode extends Node<CentralStationCredentials> {
  station: Station;
}

/** Which other stations have the phrase of a station. */
export interface SamePhrase {
  as: readonly Station[];
  /** False while another station has no phrase yet. */
  isCertain: boolean;
}

/** Why a station cannot judge a webhook message. */
export type NotReceiving =
  'no-secret' | 'not-ready' | 'not-configured' | 'refused' | { variables: UnsetVariables };

/** States of the session that matter more than what alarms alone suffer from. */
const TROUBLE: readonly StationState['kind'][] = ['offline', 'refused'];

/** For a text that tells of several stations. */
export function quotedNames(stations: readonly Station[]): string {
  return stations.map(({ name }) => `"${name}"`).join(', ');
}

/** The same in a status: whichever station tells of it, one order. */
export function sortedNames(stations: readonly Station[]): string {
  return [...new Set(stations.map(({ name }) => name))].sort().join(', ');
}

/**
 * What the nodes of one Central Station share: one client of the service with one session, and what the receiver
 * needs to prove its alarms. Lives as long as its config node.
 */
export class Station {
  /** Of its config node. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly isSandbox: boolean;
  readonly #properties: Properties;
  /** The variables that it and its cloud lack: asked for with each alarm. */
  readonly #unset: UnsetVariables | undefined;
  readonly #watchers = new Watchers();
  readonly #log: StateLog;
  readonly #versions: VersionLog;
  #state: StationState = { kind: 'idle' };
  #connecting: Promise<StationClient> | undefined;
  /** Only with a cloud that is the sandbox. */
  readonly #inSandbox: SandboxEntry | undefined;
  #closed = false;
  /** Why it is not in the sandbox stands in the log already. */
  #reported = false;
  /** Until it asks for a sign of life although no node has used it. */
  #firstSign: NodeJS.Timeout | undefined;
  /** Other stations have its phrase, too. */
  #samePhrase: SamePhrase = { as: [], isCertain: false };
  /** To be called when the station comes to have a phrase after all nodes are built. */
  onPhraseKnown: () => void = () => undefined;
  /** Another station has this key, or the key is none: its events could not be told from those of the other. */
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
    this.#log = new StateLog(RED, node);
    this.key = textOf(this.#properties, 'key') || keyFromName(node.name ?? '') || keyFromName(node.id);
    this.name = node.name || this.key;
    this.#versions = new VersionLog(RED, node, this.name);
    this.isSandbox = cloud?.isSandbox === true;
    this.#inSandbox = cloud?.isSandbox ? this.#sandboxEntry(cloud) : undefined;
    if (this.#unset === undefined) this.#inSandbox?.enterByItself();
    this.#askUnlessUsed();
  }

  /** The variables that the station or its cloud lacks. */
  get unsetVariables(): UnsetVariables | undefined {
    return this.#unset;
  }

  /**
   * The one client of this station; made at first use.
   * @throws RvmError CONFIG_MISSING, BAD_INPUT, NETWORK (sandbox), CANCELLED after close.
   */
  client(): Promise<StationClient> {
    if (this.#closed)
      return Promise.reject(new RvmError('CANCELLED', 'The Central Station was closed by a deploy.'));
    this.#connecting ??= this.#connect().catch((error: unknown) => {
      this.#connecting = undefined;
      throw error;
    });
    return this.#connecting;
  }

  /**
   * Has the cameras listed anew, where they were asked for before.
   * @throws RvmError those of session and transport
   */
  async refreshCameras(): Promise<void> {
    const client = await this.#connecting;
    await client?.listDevices({ fresh: true });
  }

  /** What the receiver needs. It does not judge by an empty phrase: see `notReceiving`. */
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

  /** Why this station cannot judge a message, for the status of the nodes that serve it. */
  notReceiving(): NotReceiving | undefined {
    if (this.#unset !== undefined) return { variables: this.#unset };
    if (this.#inSandbox !== undefined && this.#inSandbox.credentials === undefined) {
      return this.#state.kind === 'refused' ? 'refused' : 'not-ready';
    }
    if (this.clash) return 'not-configured';
    return isUsablePhrase(this.#secret()) ? undefined : 'no-secret';
  }

  get samePhrase(): SamePhrase {
    return this.#samePhrase;
  }

  /** Each begin of it stands in the log. */
  setSamePhrase(same: SamePhrase): void {
    const before = this.#samePhrase;
    const others = quotedNames(same.as);
    const isOther = quotedNames(before.as) !== others;
    this.#samePhrase = same;
    if (isOther && others !== '')
      this.node.error(this.RED._('rvm-central-station.log.samePhrase', { name: this.name, others }));
    if (isOther || before.isCertain !== same.isCertain) this.#watchers.tell();
  }

  /** Tells the sandbox where this station's alarms go; nothing for a real service. */
  setSandboxEndpoint(id: string, url: () => string | undefined): void {
    if (!this.#closed) this.#inSandbox?.setEndpoint(id, url);
  }

  removeSandboxEndpoint(id: string): void {
    this.#inSandbox?.removeEndpoint(id);
  }

  /** Calls back whenever `status` or `notReceiving` may have changed. Returns the way to end that. */
  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  /**
   * Tells a node that calls the service, until it closes, when the status may be another, and opens the session at once, so that
   * the first alarm finds its camera without waiting for a login.
   */
  serve(node: Node, changed: () => void): void {
    node.on('close', this.watch(changed));
    this.client()
      .then((client) => client.listDevices())
      .catch((error: unknown) => this.#failed(error));
  }

  /** The state of the session, as every node of this station shows it. */
  status(): NodeStatus {
    if (this.#unset !== undefined) return unsetStatus(this.RED, this.#unset);
    if (this.cloud?.isForbidden === true) return status(this.RED, 'sandboxForbidden');
    const session = connectionStatus(this.RED, this.#state, this.isSandbox);
    const { as } = this.#samePhrase;
    if (as.length === 0 || TROUBLE.includes(this.#state.kind)) return session;
    return status(this.RED, 'samePhrase', { stations: sortedNames([this, ...as]) });
  }

  /** Since when the service is out of reach; undefined where it is not, or nobody has asked. */
  get offlineSince(): Date | undefined {
    return this.#state.kind === 'offline' ? this.#state.since : undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#firstSign);
    this.#watchers.clear();
    this.#inSandbox?.close();
    const client = await this.#connecting?.catch(() => undefined);
    await client?.close();
  }

  async #connect(): Promise<StationClient> {
    if (this.#unset !== undefined) throw unsetVariableError(this.#unset);
    if (this.cloud === undefined) throw this.#cloudMissing();
    const connection = await this.cloud.connection();
    const { username = '', password = '' } = (await this.#inSandbox?.enter()) ?? this.node.credentials ?? {};

    // Loaded here and not above: registering types must not cost the memory of an HTTP client.
    const { StationClient } = require('../../lib/cloud/station-client') as ClientModule;
    const client = new StationClient({ ...connection, username, password, ...this.#hints() });
    client.onState((state) => {
      this.#state = state;
      this.#log.hear(state);
      if (state.kind === 'connected') this.#versions.hear(state.version, client.unaskedVersion !== undefined);
      this.#watchers.tell();
    });
    client.onRefresh((error) => this.#log.refreshed(error));
    if (!this.#closed) return client;
    await client.close();
    throw new RvmError('CANCELLED', 'The Central Station was closed by a deploy.');
  }

  /**
   * A station that no node uses to call the service, such as one that only receives, looks after it all the same; one that is
   * used does so in its client.
   */
  #askUnlessUsed(): void {
    const { signOfLifeMs = 0 } = this.cloud ?? {};
    if (signOfLifeMs <= 0 || !this.#canCall()) return;
    this.#firstSign = setTimeout(
      () => {
        if (this.#connecting !== undefined) return;
        this.client()
          .then((client) => client.askForLife())
          .catch((error: unknown) => this.#failed(error));
      },
      timerMs(spread(signOfLifeMs)),
    );
    this.#firstSign.unref();
  }

  /** In the sandbox empty credentials stand for its own. */
  #canCall(): boolean {
    if (this.unsetVariables !== undefined || this.cloud?.isForbidden === true) return false;
    const { username = '', password = '' } = this.node.credentials ?? {};
    return this.isSandbox || (username !== '' && password !== '');
  }

  /** The cameras of the sandbox have other ids after each start: nothing of them is worth keeping. */
  #hints(): Pick<StationClientOptions, 'hints'> {
    if (this.isSandbox) return {};
    const folder = path.join(ownFolder(this.RED), 'hints');
    return { hints: { folder, onFault: (error) => this.#log.hintsNotKept(error) } };
  }

  #sandboxEntry(cloud: CloudNode): SandboxEntry {
    const { username, password, secret } = this.node.credentials ?? {};
    const settings = { name: this.name, username, password, secret, scheme: this.#scheme() };
    return new SandboxEntry(cloud, this.key, settings, {
      entered: () => this.#sandboxEntered(),
      failed: (error) => this.#reportOnce(error),
    });
  }

  /** What kept the station out is over. */
  #sandboxEntered(): void {
    this.#reported = false;
    if (this.#state.kind === 'refused') this.#state = { kind: 'idle' };
    this.#watchers.tell();
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

  #failed(error: unknown): void {
    // A refusal of the service is in the client's state already; what is left are faults of the settings.
    if (this.#state.kind !== 'idle' || !(error instanceof RvmError) || error.code === 'CANCELLED') return;
    this.#state = { kind: 'refused', error };
    if (!this.#reported) this.#log.hear(this.#state);
    this.#watchers.tell();
  }

  #reportOnce(error: unknown): void {
    if (this.#closed || this.#reported || (error instanceof RvmError && error.code === 'CANCELLED')) return;
    this.#reported = true;
    this.node.error(error instanceof Error ? error.message : String(error));
    this.#failed(error);
  }

  #cloudMissing(): RvmError {
    return new RvmError(
      'CONFIG_MISSING',
      `The Central Station "${this.name}" has no cloud: choose one in its settings.`,
    );
  }
}
