import type { Sandbox, SandboxOptions } from '../../sandbox';
import { RvmError } from '../../lib/error';

type SandboxModule = typeof import('../../sandbox');

/** Starts the sandbox of one `rvm-cloud` once, at first use, and closes it with the node. */
export class SandboxHost {
  #starting: Promise<Sandbox> | undefined;
  #running: Sandbox | undefined;
  #closed = false;

  constructor(
    private readonly options: SandboxOptions,
    private readonly started: (sandbox: Sandbox) => void = () => undefined,
  ) {}

  /**
   * @throws RvmError CANCELLED after close, BAD_INPUT for an invalid option, NETWORK where its ports cannot
   *   be opened.
   */
  sandbox(): Promise<Sandbox> {
    if (this.#closed)
      return Promise.reject(new RvmError('CANCELLED', 'The sandbox has ended with its cloud node.'));
    this.#starting ??= this.#start();
    return this.#starting;
  }

  get running(): Sandbox | undefined {
    return this.#running;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#running = undefined;
    const sandbox = await this.#starting?.catch(() => undefined);
    await sandbox?.close();
  }

  async #start(): Promise<Sandbox> {
    // Loaded lazily: most clouds use a real service only.
    const { OptionError, Sandbox } = require('../../sandbox') as SandboxModule;
    try {
      const sandbox = await Sandbox.start(this.options);
      if (!this.#closed) this.#running = sandbox;
      this.started(sandbox);
      return sandbox;
    } catch (error) {
      // The next use tries again: the port may be free by then.
      this.#starting = undefined;
      const reason = error instanceof Error ? error.message : String(error);
      if (error instanceof OptionError) {
        throw new RvmError(
          'BAD_INPUT',
          `The sandbox cannot start: ${reason} Correct it in the cloud node, or in rvmSandbox of settings.js.`,
        );
      }
      throw new RvmError(
        'NETWORK',
        `The sandbox could not start (${reason}): free the port, or place it by rvmSandbox in settings.js.`,
      );
    }
  }
}
