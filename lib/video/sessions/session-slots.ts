import type { CallOptions, RtspSession, RtspWanted } from '../../cloud/calls';
import { asText, firstField } from '../../cloud/http/answer';
import type { Release } from '../../concurrency/semaphore';
import type { CancelToken } from '../../concurrency/signals';
import { RvmError } from '../../error';

/** Longest queue for a session. */
const LONGEST_QUEUE = 100;
/** Milliseconds: a longer wait shows that there are more alarms than sessions. */
const LONG_WAIT_MS = 30_000;

interface Waiting {
  /** When it was queued, on the monotonic clock. */
  readonly since: number;
  /** When its alarm began; -Infinity without an alarm. */
  readonly alarmTime: number;
  readonly start: () => void;
}

/**
 * Limits the RTSP sessions of a cloud that are open at a time. Requests are queued first in, first out; once the first has
 * waited for half a minute, the newest alarm goes first, because an operator can still act on that one.
 */
export class SessionSlots {
  readonly #queue: Waiting[] = [];
  taken = 0;

  /** @param monotonic monotonic clock, in milliseconds */
  constructor(
    private readonly all: number,
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Waits for a slot.
   * @param alarmTime when the alarm of this video began, in milliseconds since 1970
   * @throws RvmError VIDEO_BUSY where the queue is full; else the reason of the ending
   */
  take(ending: CancelToken, alarmTime = -Infinity): Promise<Release> {
    if (this.#queue.length >= LONGEST_QUEUE) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        since: this.monotonic(),
        alarmTime,
        start: () => {
          stopListening();
          resolve(this.#release());
        },
      };
      this.#queue.push(waiting);
      const stopListening = ending.onAbort((reason) => {
        const at = this.#queue.indexOf(waiting);
        if (at < 0) return;
        this.#queue.splice(at, 1);
        reject(reason);
      });
      this.#next();
    });
  }

  #release(): Release {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.taken -= 1;
      this.#next();
    };
  }

  #next(): void {
    if (this.taken >= this.all) return;
    const [next] = this.#queue.splice(this.#nextAt(), 1);
    if (next === undefined) return;
    this.taken += 1;
    next.start();
  }

  #nextAt(): number {
    const [first] = this.#queue;
    if (first === undefined || this.monotonic() - first.since <= LONG_WAIT_MS) return 0;
    const newest = this.#queue.reduce((a, b) => (b.alarmTime > a.alarmTime ? b : a));
    return this.#queue.indexOf(newest);
  }
}

function busy(): RvmError {
  return new RvmError(
    'VIDEO_BUSY',
    `${LONGEST_QUEUE} videos wait for a session of this cloud already: ask for fewer at a time, or raise "Videos at once" in the cloud as far as the service allows.`,
  );
}

/** Opens RTSP sessions: the client of a Central Station. */
interface SessionOpener {
  openRtsp(wanted: RtspWanted, options: CallOptions): Promise<RtspSession>;
}

/** Video of one camera, live or from a time on. */
export interface VideoSource {
  client: SessionOpener;
  wanted: RtspWanted;
}

/** The text that identifies the camera of a request; equal for all requests of one alarm. */
export function cameraOf(wanted: RtspWanted): string {
  if (wanted.mode !== 'event') return wanted.camera;
  const { event } = wanted;
  return asText(firstField(event, ['cameraId'])) ?? asText(firstField(event, ['cameraRemoteId'])) ?? '';
}
