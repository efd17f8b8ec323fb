import type { ServedMethod } from './protocol';

interface Scope {
  /** Camera id; absent = every camera. */
  camera?: string;
  /** Number of requests (for a stream fault: sessions) that the fault affects; absent = until cleared. */
  count?: number;
}

/** A fault of the answer to one method; default DESCRIBE. */
export type AnswerFault = Scope & { method?: ServedMethod } & (
    | { kind: 'silent' }
    | { kind: 'slow'; ms: number }
    | { kind: 'status'; status: number }
    | { kind: 'reset' | 'garbage' | 'wrong-cseq' }
    | { kind: 'no-content-length' | 'oversize-content-length' }
    /** `new` = a new URL of the same server, `loop` = always the same URL, else the URL to send. */
    | { kind: 'redirect'; to: string }
  );

/** A fault of the session description. */
type DescriptionFault = Scope & { kind: 'oversize-sdp' | 'no-parameter-sets' };

/** A fault of the stream of a session. */
export type StreamFault = Scope &
  (
    | { kind: 'stall' | 'drop-connection' | 'cut-frame'; frames: number }
    /** Every n-th packet is lost, sent twice, or swapped with the next. */
    | { kind: 'lose' | 'repeat' | 'reorder'; every: number }
    /** Sequence number and timestamp jump after this many frames. */
    | { kind: 'jump'; frames: number }
    | { kind: 'no-key-frame' | 'aggregate-parameter-sets' | 'lone-bye' }
  );

/**
 * A recording that is available late. Until `seconds` after the recorded moment the server answers 404 (`not-found`), ends the
 * stream before its first picture (`ends`), or where the recording ends so far (`short`).
 */
export interface Lateness {
  seconds: number;
  way: 'not-found' | 'ends' | 'short';
}
type LateFault = Pick<Scope, 'camera'> & { kind: 'recording-late' } & Lateness;

/** A fault that can be switched on. */
export type RtspFault = AnswerFault | DescriptionFault | StreamFault | LateFault;

const ANSWER_KINDS = [
  'silent',
  'slow',
  'status',
  'reset',
  'garbage',
  'wrong-cseq',
  'no-content-length',
  'oversize-content-length',
  'redirect',
] as const satisfies readonly AnswerFault['kind'][];

interface Armed {
  fault: RtspFault;
  left: number;
}

/** The faults that are switched on. Each use of a fault reduces its remaining `count`. */
export class RelayFaultInjector {
  #armed: Armed[] = [];

  /** Switches a fault on, in addition to those already on. */
  add(fault: RtspFault): void {
    this.#armed.push({ fault, left: 'count' in fault ? (fault.count ?? Infinity) : Infinity });
  }

  clear(): void {
    this.#armed = [];
  }

  /** Every fault that affects the answer to this request. */
  forAnswer(method: string, camera: string | undefined, isRedirected: boolean): AnswerFault[] {
    return this.#take((fault): fault is AnswerFault => {
      if (!isAnswerFault(fault) || (fault.kind === 'redirect' && isRedirected)) return false;
      return (fault.method ?? 'DESCRIBE') === method;
    }, camera);
  }

  /** Every fault that affects the stream of a new session. */
  forStream(camera: string): StreamFault[] {
    return this.#take(isStreamFault, camera);
  }

  /** Delay of the recordings of a camera; undefined = they are available at once. */
  lateness(camera: string): Lateness | undefined {
    return this.#armed
      .map(({ fault }) => fault)
      .filter((fault) => fault.kind === 'recording-late')
      .find((fault) => fault.camera === undefined || fault.camera === camera);
  }

  /** True if a fault of this kind affects the description of the camera. */
  inDescription(kind: DescriptionFault['kind'], camera: string): boolean {
    return this.#take((fault): fault is DescriptionFault => fault.kind === kind, camera).length > 0;
  }

  #take<T extends RtspFault>(wanted: (fault: RtspFault) => fault is T, camera: string | undefined): T[] {
    const taken: T[] = [];
    for (const armed of this.#armed) {
      const { fault } = armed;
      if (!wanted(fault) || (fault.camera !== undefined && fault.camera !== camera)) continue;
      armed.left--;
      taken.push(fault);
    }
    this.#armed = this.#armed.filter((armed) => armed.left > 0);
    return taken;
  }
}

function isAnswerFault(fault: RtspFault): fault is AnswerFault {
  return ANSWER_KINDS.some((kind) => kind === fault.kind);
}

/** What is no fault of an answer, a description or a recording is one of a stream. */
function isStreamFault(fault: RtspFault): fault is StreamFault {
  return (
    !isAnswerFault(fault) && !['oversize-sdp', 'no-parameter-sets', 'recording-late'].includes(fault.kind)
  );
}
