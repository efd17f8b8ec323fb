import { RvmError } from '../../lib/error';
import type { CloudNode, Sandbox, StationCredentials, StationSettings } from '../rvm-cloud/connection';

/** Until a sandbox that could not start is tried again, in milliseconds: its port may be free by then. */
const RETRY_MS = 5_000;

interface Callbacks {
  /** The station is in: its credentials are known, and its alarms come. */
  entered(): void;
  /** It could not enter, when nobody else asked for it. */
  failed(error: unknown): void;
}

/**
 * The place of one Central Station in the sandbox of its cloud: its credentials there, and where its alarms go. A
 * station that only receives sends no message that would try again after a failed start, so this does.
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
   * Enters once, starting the sandbox if need be. Empty credentials stand for those of the sandbox.
   * @throws RvmError CONFIG_MISSING, BAD_INPUT, NETWORK, CANCELLED after close.
   */
  enter(): Promise<StationCredentials> {
    if (this.credentials !== undefined) return Promise.resolve(this.credentials);
    this.#entering ??= this.#tryToEnter().finally(() => {
      this.#entering = undefined;
    });
    return this.#entering;
  }

  /** Enters although nobody waits for it; a failure is reported. */
  enterByItself(): void {
    this.enter().catch((error: unknown) => this.callbacks.failed(error));
  }

  /** Where alarms of this station go, now or as soon as it is in. */
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
