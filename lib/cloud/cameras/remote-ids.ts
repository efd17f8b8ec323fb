import { RvmError } from '../../error';
import type { Operation } from '../operation';
import { KeyedFlight } from '../single-flight';
import type { DeviceDirectory } from './device-directory';
import type { DeviceEntry } from './device-index';
import { remoteIdOf } from './device-record';

/** The remote id that a camera's own resource shows, undefined where it shows none, and until when that is believed. */
interface Shown {
  readonly remoteId: string | undefined;
  readonly until: number;
}

/** Details that could not be had are not asked for again for so long. */
const FAILED_DETAILS_MS = 5 * 60_000;

/** The remote ids that only the cameras' own resources show, each asked for once. */
export class RemoteIds {
  readonly #directory: DeviceDirectory;
  readonly #known = new Map<string, Shown>();
  readonly #asking = new KeyedFlight<string | undefined>();

  constructor(directory: DeviceDirectory) {
    this.#directory = directory;
  }

  /**
   * The remote id that the camera's own resource shows, undefined where there is none.
   * @throws RvmError those of the session
   */
  async inDetails(operation: Operation, entry: DeviceEntry): Promise<string | undefined> {
    const { id } = entry.device;
    const known = this.#known.get(id);
    if (known !== undefined && performance.now() < known.until) return known.remoteId;
    return this.#asking.run(id, operation, (shared) => this.#ask(shared, entry));
  }

  /** Forgets what a camera has shown, because the service did not take it. */
  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Keeps what is known no larger than the directory. */
  forgetAllBut(present: (id: string) => boolean): void {
    for (const id of this.#known.keys()) if (!present(id)) this.#known.delete(id);
  }

  async #ask(operation: Operation, entry: DeviceEntry): Promise<string | undefined> {
    const { id } = entry.device;
    try {
      const details = await this.#directory.askDetails(operation, entry);
      const remoteId = details && remoteIdOf(details);
      this.#known.set(id, { remoteId, until: Infinity });
      return remoteId;
    } catch (error) {
      // What it would tell is a hint, and not worth a request for each message; not so where nobody was reached.
      const until = performance.now() + FAILED_DETAILS_MS;
      if (isOfTheCamera(error)) this.#known.set(id, { remoteId: undefined, until });
      throw error;
    }
  }
}

/** True for a failure that is this camera's own: there was an answer, or none to this alone. */
function isOfTheCamera(error: unknown): boolean {
  if (!(error instanceof RvmError)) return false;
  return error.cause.status !== undefined || error.code === 'TIMEOUT';
}
