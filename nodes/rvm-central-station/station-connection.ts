import path from 'node:path';
import type { Node, NodeAPI } from 'node-red';
import type { StationClient, StationClientOptions, StationState } from '../../lib/cloud/station-client';
import { jitter } from '../../lib/cloud/timing';
import { clampTimerMs } from '../../lib/concurrency/timers';
import { RvmError } from '../../lib/error';
import type { CloudNode } from '../rvm-cloud/connection';
import { nameClient } from '../support/recent-video';
import { ownFolder, unsetVariableError, type UnsetVariables } from '../support/settings';

type ClientModule = typeof import('../../lib/cloud/station-client');

interface AgentUser {
  username?: string | undefined;
  password?: string | undefined;
}

/** The station that owns the connection. */
interface Owner {
  /** Short name of the station. */
  readonly key: string;
  readonly name: string;
  /** Unset variables of the station and of its cloud. */
  readonly unsetVariables: UnsetVariables | undefined;
  readonly cloud: CloudNode | undefined;
  /** As entered in the dialog. In the sandbox, empty ones are replaced by credentials of the sandbox. */
  readonly credentials: AgentUser;
  /** Resolves to the login to use, as soon as it is known. */
  agentUser: () => Promise<AgentUser>;
  /** Called when the state may have changed. */
  changed: () => void;
}

/** The single client of a Central Station; reports its session to the nodes and to the log. */
export class StationConnection {
  readonly #RED: NodeAPI;
  readonly #node: Node;
  readonly #owner: Owner;
  readonly #log: StateLog;
  readonly #versions: VersionLog;
  #state: StationState = { kind: 'idle' };
  #connecting: Promise<StationClient> | undefined;
  #client: StationClient | undefined;
  #closed = false;
  /** True once the log says why the station is not in the sandbox. */
  #reported = false;
  /** Fires the first sign of life if no node has used the connection until then. */
  #firstSign: NodeJS.Timeout | undefined;

  constructor(RED: NodeAPI, node: Node, owner: Owner) {
    this.#RED = RED;
    this.#node = node;
    this.#owner = owner;
    this.#log = new StateLog(RED, node);
    this.#versions = new VersionLog(RED, node, owner.name);
    this.#askUnlessUsed();
  }

  get state(): StationState {
    return this.#state;
  }

  /** True while only probes are sent to the service. */
  get isHeldUp(): boolean {
    return this.#client?.isHeldUp === true;
  }

  /** Milliseconds by which the clock of the service is ahead of this machine; undefined before the first answer with a time. */
  get clockAhead(): number | undefined {
    return this.#client?.clockAhead;
  }

  /** True where the station has an Agent User to log in with. */
  get canCall(): boolean {
    return this.#canCall();
  }

  /** Sends a sign of life now, where the station can call the service. The result shows in the state. */
  askForLife(): void {
    if (this.#canCall()) this.#use((client) => client.askForLife());
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /**
   * The client, created at first use.
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

  /** Opens the session and loads the list of cameras; a failure shows in the state. */
  open(): void {
    this.#use((client) => client.listDevices());
  }

  /**
   * Reloads the list of cameras, if the station has a client already.
   * @throws RvmError those of session and transport
   */
  async refreshCameras(): Promise<void> {
    const client = await this.#connecting;
    await client?.listDevices({ fresh: true });
  }

  /** Clears the failure that prevented the station from entering the sandbox. */
  sandboxEntered(): void {
    this.#reported = false;
    if (this.#state.kind === 'refused') this.#state = { kind: 'idle' };
    this.#owner.changed();
  }

  /** Reports once that the station could not enter the sandbox while no caller was waiting. */
  sandboxFailed(error: unknown): void {
    if (this.#closed || this.#reported || (error instanceof RvmError && error.code === 'CANCELLED')) return;
    this.#reported = true;
    this.#node.error(error instanceof Error ? error.message : String(error));
    this.#failed(error);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#firstSign);
    const client = await this.#connecting?.catch(() => undefined);
    await client?.close();
  }

  async #connect(): Promise<StationClient> {
    const { cloud, name, unsetVariables } = this.#owner;
    if (unsetVariables !== undefined) throw unsetVariableError(unsetVariables);
    if (cloud === undefined) throw cloudMissing(name);
    const connection = await cloud.connection();
    const { username = '', password = '' } = await this.#owner.agentUser();

    // Loaded lazily: registering the node types must not cost the memory of an HTTP client.
    const { StationClient } = require('../../lib/cloud/station-client') as ClientModule;
    const { key } = this.#owner;
    const client = new StationClient({ ...connection, key, username, password, ...this.#hints(cloud) });
    this.#client = client;
    client.onState((state) => {
      this.#state = state;
      this.#log.hear(state);
      if (state.kind === 'connected') this.#versions.hear(state.version, client.unaskedVersion !== undefined);
      this.#owner.changed();
    });
    client.onRefresh((error) => this.#log.refreshed(error));
    nameClient(client, this.#owner.key);
    if (!this.#closed) return client;
    await client.close();
    throw closedError();
  }

  /** None for the sandbox: its cameras have other ids after each start, so cached hints would be useless. */
  #hints({ isSandbox }: CloudNode): Pick<StationClientOptions, 'hints'> {
    if (isSandbox) return {};
    const folder = path.join(ownFolder(this.#RED), 'hints');
    return { hints: { folder, onFault: (error) => this.#log.hintsNotKept(error) } };
  }

  /**
   * Starts the sign of life for a station that no node uses to call the service, for example one that only receives. For all
   * others their client does this.
   */
  #askUnlessUsed(): void {
    const { signOfLifeMs = 0 } = this.#owner.cloud ?? {};
    if (signOfLifeMs <= 0 || !this.#canCall()) return;
    this.#firstSign = setTimeout(
      () => {
        if (this.#connecting === undefined) this.#use((client) => client.askForLife());
      },
      clampTimerMs(jitter(signOfLifeMs)),
    );
    this.#firstSign.unref();
  }

  #canCall(): boolean {
    const { cloud, credentials, unsetVariables } = this.#owner;
    if (unsetVariables !== undefined || cloud?.isForbidden === true) return false;
    const { username = '', password = '' } = credentials;
    return cloud?.isSandbox === true || (username !== '' && password !== '');
  }

  #use(work: (client: StationClient) => Promise<unknown>): void {
    this.client()
      .then(work)
      .catch((error: unknown) => this.#failed(error));
  }

  #failed(error: unknown): void {
    // A refusal by the service is in the state of the client already; what arrives here is a fault of the
    // settings.
    if (this.#state.kind !== 'idle' || !(error instanceof RvmError) || error.code === 'CANCELLED') return;
    this.#state = { kind: 'refused', error };
    if (!this.#reported) this.#log.hear(this.#state);
    this.#owner.changed();
  }
}

function closedError(): RvmError {
  return new RvmError('CANCELLED', 'The Central Station was closed by a deploy.');
}

export function cloudMissing(name: string): RvmError {
  return new RvmError(
    'CONFIG_MISSING',
    `The Central Station "${name}" has no cloud: choose one in its settings.`,
  );
}

/** Logs each change in the reachability of a Central Station once: a machine without an editor shows it nowhere else. */
class StateLog {
  /** The trouble that was logged last: `offline`, or the code of a refusal. */
  #trouble: string | undefined;
  #isOld = false;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
  ) {}

  hear(state: StationState): void {
    // All ways of being offline count as one trouble.
    if (state.kind === 'offline') this.#logChange(state.kind, state.error);
    if (state.kind === 'refused') this.#logChange(state.error.code, state.error);
    if (state.kind !== 'connected' || this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.node.log(this.RED._('rvm-central-station.log.connectedAgain'));
  }

  /** @param error why the list of cameras could not be refreshed; undefined after success */
  refreshed(error: RvmError | undefined): void {
    const isOld = error !== undefined && error.code !== 'CANCELLED';
    if (isOld && !this.#isOld && this.#trouble === undefined) {
      this.node.warn(this.RED._('rvm-central-station.log.oldList', { reason: error.message }));
    }
    this.#isOld = isOld;
  }

  /** @param error why the camera hints cannot be stored for the next run */
  hintsNotKept(error: NodeJS.ErrnoException): void {
    const code = error.code ?? 'unknown error';
    this.node.warn(this.RED._('rvm-central-station.log.hintsNotKept', { code }));
  }

  #logChange(trouble: string, { code, message }: RvmError): void {
    if (trouble === this.#trouble || code === 'CANCELLED') return;
    this.#trouble = trouble;
    this.node.warn(message);
  }
}

/** Logs each API version outside of the requested range once. No other fault comes of it, so all continues (rule T-09). */
class VersionLog {
  readonly #logged = new Set<string | undefined>();

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    /** Name of the Central Station. */
    private readonly name: string,
  ) {}

  /**
   * Notes the version of an answer.
   * @param version undefined where the service names none
   * @param isUnasked true where the version lies outside of the requested range
   */
  hear(version: string | undefined, isUnasked: boolean): void {
    if (version !== undefined && !isUnasked) return;
    if (this.#logged.has(version)) return;
    this.#logged.add(version);
    const { name } = this;
    const text = version === undefined ? 'noVersion' : 'unaskedVersion';
    this.node.warn(this.RED._(`rvm-central-station.log.${text}`, { name, version: version ?? '' }));
  }
}
