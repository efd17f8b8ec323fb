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

/** Whose connection it is. */
interface Owner {
  /** Short name of the station. */
  readonly key: string;
  readonly name: string;
  /** The variables that it and its cloud lack. */
  readonly unsetVariables: UnsetVariables | undefined;
  readonly cloud: CloudNode | undefined;
  /** As they stand in the dialog; in the sandbox empty ones stand for its own. */
  readonly credentials: AgentUser;
  /** Those to log in with, once they are known. */
  agentUser: () => Promise<AgentUser>;
  /** The state may be another. */
  changed: () => void;
}

/** The one client of a Central Station, and what its nodes and the log are told of the session. */
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
  /** Why the station is not in the sandbox stands in the log already. */
  #reported = false;
  /** Until it asks for a sign of life although no node has used it. */
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

  /** True while nothing is sent to the service but probes. */
  get isHeldUp(): boolean {
    return this.#client?.isHeldUp === true;
  }

  /** Milliseconds that the clock of the service is ahead of that of this machine; undefined where no answer has told. */
  get clockAhead(): number | undefined {
    return this.#client?.clockAhead;
  }

  /** True where it has an Agent User to log in with. */
  get canCall(): boolean {
    return this.#canCall();
  }

  /** Asks the service for a sign of life, where it can be asked; what comes of it shows in the state. */
  askForLife(): void {
    if (this.#canCall()) this.#use((client) => client.askForLife());
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /**
   * The client; made at first use.
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

  /** Opens the session and has the cameras listed; what fails shows in the state. */
  open(): void {
    this.#use((client) => client.listDevices());
  }

  /**
   * Has the cameras listed anew, where they were asked for before.
   * @throws RvmError those of session and transport
   */
  async refreshCameras(): Promise<void> {
    const client = await this.#connecting;
    await client?.listDevices({ fresh: true });
  }

  /** What kept the station out of the sandbox is over. */
  sandboxEntered(): void {
    this.#reported = false;
    if (this.#state.kind === 'refused') this.#state = { kind: 'idle' };
    this.#owner.changed();
  }

  /** The station could not enter the sandbox, when nobody had asked for it: told once. */
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

    // Loaded here and not above: registering types must not cost the memory of an HTTP client.
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
    this.#client = client;
    nameClient(client, this.#owner.key);
    if (!this.#closed) return client;
    await client.close();
    throw closedError();
  }

  /** The cameras of the sandbox have other ids after each start: nothing of them is worth keeping. */
  #hints({ isSandbox }: CloudNode): Pick<StationClientOptions, 'hints'> {
    if (isSandbox) return {};
    const folder = path.join(ownFolder(this.#RED), 'hints');
    return { hints: { folder, onFault: (error) => this.#log.hintsNotKept(error) } };
  }

  /**
   * A station that no node uses to call the service, such as one that only receives, looks after it all the same; one that is
   * used does so in its client.
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
    // A refusal of the service is in the client's state already; what is left are faults of the settings.
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

/** Tells the log of each change in what a Central Station can reach, once: a machine without an editor has nothing else. */
class StateLog {
  /** The trouble that stands in the log: out of reach, or the code of a refusal. */
  #trouble: string | undefined;
  #isOld = false;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
  ) {}

  hear(state: StationState): void {
    // Out of reach is one trouble, whatever it shows in.
    if (state.kind === 'offline') this.#tell(state.kind, state.error);
    if (state.kind === 'refused') this.#tell(state.error.code, state.error);
    if (state.kind !== 'connected' || this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.node.log(this.RED._('rvm-central-station.log.connectedAgain'));
  }

  /** @param error why the list of cameras could not be refreshed, undefined where it was */
  refreshed(error: RvmError | undefined): void {
    const isOld = error !== undefined && error.code !== 'CANCELLED';
    if (isOld && !this.#isOld && this.#trouble === undefined) {
      this.node.warn(this.RED._('rvm-central-station.log.oldList', { reason: error.message }));
    }
    this.#isOld = isOld;
  }

  /** @param error why what was learned of the cameras cannot be kept for the next run */
  hintsNotKept(error: NodeJS.ErrnoException): void {
    const code = error.code ?? 'unknown error';
    this.node.warn(this.RED._('rvm-central-station.log.hintsNotKept', { code }));
  }

  #tell(trouble: string, { code, message }: RvmError): void {
    if (trouble === this.#trouble || code === 'CANCELLED') return;
    this.#trouble = trouble;
    this.node.warn(message);
  }
}

/** Tells the log of a version that was not agreed on, each once: nothing else is wrong, so all goes on (rule T-09). */
class VersionLog {
  readonly #told = new Set<string | undefined>();

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    /** Of the Central Station. */
    private readonly name: string,
  ) {}

  /**
   * Hears what the service has answered.
   * @param version undefined where it names none
   * @param isUnasked true where it lies outside of the range that was asked for
   */
  hear(version: string | undefined, isUnasked: boolean): void {
    if (version !== undefined && !isUnasked) return;
    if (this.#told.has(version)) return;
    this.#told.add(version);
    const { name } = this;
    const text = version === undefined ? 'noVersion' : 'unaskedVersion';
    this.node.warn(this.RED._(`rvm-central-station.log.${text}`, { name, version: version ?? '' }));
  }
}
