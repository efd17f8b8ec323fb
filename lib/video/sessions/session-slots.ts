import type { CallOptions, RtspSession, RtspWanted } from '../../cloud/calls';
import { asText, firstField } from '../../cloud/http/answer';
import type { Release } from '../../concurrency/semaphore';
import type { CancelToken } from '../../concurrency/signals';
import { RvmError } from '../../error';

/** How many wait for a session at most. */
const LONGEST_LINE = 100;
/** Milliseconds: whoever has waited longer shows that there are more alarms than sessions. */
const PATIENCE = 30_000;

interface Waiting {
  /** When it came, on the clock that never jumps. */
  readonly since: number;
  /** When its alarm began; the oldest of all where it is none. */
  readonly alarmTime: number;
  readonly start: () => void;
}

/**
 * Bounds how many RTSP sessions of a cloud are open at a time. The others wait in order; once the first has waited for half a
 * minute, the newest alarm goes first: an operator can still act on that one.
 */
export class SessionSlots {
  readonly #all: number;
  readonly #steady: () => number;
  readonly #line: Waiting[] = [];
  #taken = 0;

  /** @param steady milliseconds of a clock that never jumps */
  constructor(all: number, steady: () => number = () => performance.now()) {
    this.#all = all;
    this.#steady = steady;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#line.length;
  }

  /**
   * Waits for a place.
   * @param alarmTime when the alarm of this video began, in milliseconds since 1970
   * @throws RvmError VIDEO_BUSY where too many wait already; else the reason of the ending
   */
  take(ending: CancelToken, alarmTime = -Infinity): Promise<Release> {
    if (this.#line.length >= LONGEST_LINE) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        since: this.#steady(),
        alarmTime,
        start: () => {
          stopListening();
          resolve(this.#place());
        },
      };
      this.#line.push(waiting);
      const stopListening = ending.onAbort((reason) => {
        const at = this.#line.indexOf(waiting);
        if (at < 0) return;
        this.#line.splice(at, 1);
        reject(reason);
      });
      this.#next();
    });
  }

  #place(): Release {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#taken -= 1;
      this.#next();
    };
  }

  #next(): void {
    if (this.#taken >= this.#all) return;
    const [next] = this.#line.splice(this.#nextAt(), 1);
    if (next === undefined) return;
    this.#taken += 1;
    next.start();
  }

  #nextAt(): number {
    const [first] = this.#line;
    if (first === undefined || this.#steady() - first.since <= PATIENCE) return 0;
    const newest = this.#line.reduce((a, b) => (b.alarmTime > a.alarmTime ? b : a));
    return this.#line.indexOf(newest);
  }
}

function busy(): RvmError {
  return new RvmError(
    'VIDEO_BUSY',
    `${LONGEST_LINE} videos wait for a session of this cloud already: ask for fewer at a time, or raise "Videos at once" in the cloud as far as the service allows.`,
  );
}

/** Who opens RTSP sessions: the client of a Central Station. */
interface SessionOpener {
  openRtsp(wanted: RtspWanted, options: CallOptions): Promise<RtspSession>;
}

/** Video of one camera, live or from a time on. */
export interface VideoSource {
  client: SessionOpener;
  wanted: RtspWanted;
}

/** The words that a camera goes by in what is wanted; the same for all that is wanted of one alarm. */
export function cameraOf(wanted: RtspWanted): string {
  if (wanted.mode !== 'event') return wanted.camera;
  const { event } = wanted;
  return asText(firstField(event, ['cameraId'])) ?? asText(firstField(event, ['cameraRemoteId'])) ?? '';
}
