import { RvmError } from '../../lib/error';
import type { CloudNode, Sandbox, StationCredentials, StationSettings } from '../rvm-cloud/connection';

/** Milliseconds before a sandbox that could not start is tried again: its port may be free by then. */
const RETRY_MS = 5_000;

interface Callbacks {
  /** The station has entered: its credentials are known and the sandbox sends its alarms. */
  entered(): void;
  /** The station could not enter, and no caller was waiting for the result. */
  failed(error: unknown): void;
}

/**
 * Membership of one Central Station in the sandbox of its cloud: its credentials there and the endpoints for its alarms.
 * Retries after a failed start, because a station that only receives makes no call that would retry.
 */
export class SandboxEntry {
  credentials: StationCredentials | undefined;
  #sandbox: Sandbox | undefined;
  #entering: Promise<StationCredentials> | undefined;
  readonly #endpoints = new Map<string, () => string | undefined>();
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    private readonly cloud: CloudNode,
    private readonly key: string,
    private readonly settings: StationSettings,
    private readonly callbacks: Callbacks,
  ) {}

  /**
   * Enters once, and starts the sandbox where necessary. Empty settings are replaced by the credentials of the sandbox.
   * @throws RvmError CONFIG_MISSING, BAD_INPUT, NETWORK, CANCELLED after close.
   */
  enter(): Promise<StationCredentials> {
    if (this.credentials !== undefined) return Promise.resolve(this.credentials);
    this.#entering ??= this.#tryToEnter().finally(() => {
      this.#entering = undefined;
    });
    return this.#entering;
  }

  /** Enters without a waiting caller; a failure goes to `callbacks.failed`. */
  enterByItself(): void {
    this.enter().catch((error: unknown) => this.callbacks.failed(error));
  }

  /** Sets the endpoint for alarms of this station, now or as soon as the station has entered. */
  setEndpoint(id: string, url: () => string | undefined): void {
    this.#endpoints.set(id, url);
    this.#sandbox?.setEndpoint(id, { station: this.key, url });
  }

  removeEndpoint(id: string): void {
    this.#endpoints.delete(id);
    this.#sandbox?.removeEndpoint(id);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#sandbox?.removeStation(this.key);
  }

  async #tryToEnter(): Promise<StationCredentials> {
    try {
      const sandbox = await this.cloud.sandbox();
      if (this.#closed) throw new RvmError('CANCELLED', 'The Central Station was closed by a deploy.');
      return this.#settle(sandbox);
    } catch (error) {
      if (error instanceof RvmError && error.code === 'NETWORK') this.#tryAgainSoon();
      throw error;
    }
  }

  #settle(sandbox: Sandbox): StationCredentials {
    clearTimeout(this.#retry);
    const credentials = sandbox.setStation(this.key, this.settings);
    for (const [id, url] of this.#endpoints) sandbox.setEndpoint(id, { station: this.key, url });
    this.#sandbox = sandbox;
    this.credentials = credentials;
    this.callbacks.entered();
    return credentials;
  }

  #tryAgainSoon(): void {
    if (this.#closed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.enterByItself(), RETRY_MS);
    this.#retry.unref();
  }
}
