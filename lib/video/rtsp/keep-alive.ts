import { timerMs } from '../../concurrency/timers';
import type { RvmError } from '../../error';
import { STREAM_FAULTS } from './relay-faults';
import type { RtspSession } from './session';

const PREFERRED = 'GET_PARAMETER';
/** Every server knows it, and most take it for a sign of life, too (RFC 2326, appendix D). */
const ALWAYS_KNOWN = 'OPTIONS';
const SESSION_NOT_FOUND = 454;
/** Of a server that does not know a method. */
const NOT_KNOWN: readonly number[] = [400, 405, 501, 551];
/** Milliseconds. */
const [SHORTEST, LONGEST] = [1_000, 30_000];

/** Tells a server, twice in the time that it waits for it, that somebody is still there. */
export class KeepAlive {
  readonly #session: RtspSession;
  readonly #gone: (fault: RvmError) => void;
  readonly #timer: NodeJS.Timeout;
  #isRefused = false;

  /** @param gone told where the server does not know the session any more */
  constructor(session: RtspSession, gone: (fault: RvmError) => void) {
    this.#session = session;
    this.#gone = gone;
    const half = (session.timeout * 1000) / 2;
    this.#timer = setInterval(() => void this.#tell(), timerMs(Math.max(SHORTEST, Math.min(half, LONGEST))));
    // So that it is known what can be asked, before it has to be.
    if (session.methods.length === 0) void this.#ask(ALWAYS_KNOWN);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #tell(): Promise<void> {
    const { methods } = this.#session;
    const isKnown = methods.length === 0 || methods.includes(PREFERRED);
    if (!isKnown || this.#isRefused) return this.#ask(ALWAYS_KNOWN);
    const status = await this.#statusOf(PREFERRED);
    if (status === undefined || !NOT_KNOWN.includes(status)) return;
    this.#isRefused = true;
    await this.#ask(ALWAYS_KNOWN);
  }

  async #ask(method: string): Promise<void> {
    await this.#statusOf(method);
  }

  /** Whether an answer is missing tells nothing: the packets tell whether the server is there. */
  async #statusOf(method: string): Promise<number | undefined> {
    const answer = await this.#session.ask(method, this.#session.url).catch(() => undefined);
    if (answer?.status === SESSION_NOT_FOUND) this.#gone(STREAM_FAULTS.refused(SESSION_NOT_FOUND));
    return answer?.status;
  }
}
