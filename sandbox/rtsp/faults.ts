type Method =
  | 'OPTIONS'
  | 'DESCRIBE'
  | 'SETUP'
  | 'PLAY'
  | 'PAUSE'
  | 'GET_PARAMETER'
  | 'SET_PARAMETER'
  | 'TEARDOWN';

interface Scope {
  /** Camera id; absent = every camera. */
  camera?: string;
  /** How often it happens: requests, or sessions for a fault of the stream; absent = until cleared. */
  count?: number;
}

/** Trouble with the answer to one method, DESCRIBE unless said. */
export type AnswerFault = Scope & { method?: Method } & (
    | { kind: 'silent' }
    | { kind: 'slow'; ms: number }
    | { kind: 'status'; status: number }
    | { kind: 'reset' | 'garbage' | 'wrong-cseq' }
    | { kind: 'no-content-length' | 'oversize-content-length' }
    /** `new` = a fresh URL of the same server, `loop` = the same URL again and again, else the URL to send. */
    | { kind: 'redirect'; to: string }
  );

/** Trouble with the session description. */
type DescriptionFault = Scope & { kind: 'oversize-sdp' | 'no-parameter-sets' };

/** Trouble with the stream of a session. */
export type StreamFault = Scope &
  (
    | { kind: 'stall' | 'drop-connection' | 'cut-frame'; frames: number }
    /** Every n-th packet is lost, sent twice, or swapped with the next. */
    | { kind: 'lose' | 'repeat' | 'reorder'; every: number }
    /** Sequence number and time stamp jump after so many frames. */
    | { kind: 'jump'; frames: number }
    | { kind: 'no-key-frame' | 'aggregate-parameter-sets' | 'lone-bye' }
  );

/**
 * A recording is not there yet: until `seconds` after its moment it is not found, ends before its first picture, or ends
 * where it has been written up to.
 */
export interface Lateness {
  seconds: number;
  way: 'not-found' | 'ends' | 'short';
}
type LateFault = Pick<Scope, 'camera'> & { kind: 'recording-late' } & Lateness;

/** Trouble on demand. */
export type RtspFault = AnswerFault | DescriptionFault | StreamFault | LateFault;

type Kind = RtspFault['kind'];
type OfKind<K extends Kind> = Extract<RtspFault, { kind: K }>;

const STREAM_KINDS = [
  'stall',
  'drop-connection',
  'cut-frame',
  'lose',
  'repeat',
  'reorder',
  'jump',
  'no-key-frame',
  'aggregate-parameter-sets',
  'lone-bye',
] as const satisfies readonly StreamFault['kind'][];

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

/** The faults that are switched on. Taking one counts against its `count`. */
export class RelayFaultInjector {
  #armed: Armed[] = [];

  /** Switches a fault on, beside those already on. */
  add(fault: RtspFault): void {
    this.#armed.push({ fault, left: 'count' in fault ? (fault.count ?? Infinity) : Infinity });
  }

  clear(): void {
    this.#armed = [];
  }

  /** Every fault that meets the answer to this request. */
  forAnswer(method: string, camera: string | undefined, already: { redirected: boolean }): AnswerFault[] {
    return this.#take((fault): fault is AnswerFault => {
      if (!isAnswerFault(fault) || (fault.kind === 'redirect' && already.redirected)) return false;
      return (fault.method ?? 'DESCRIBE') === method;
    }, camera);
  }

  /** Every fault that meets the stream of a session which plays for the first time. */
  forStream(camera: string): StreamFault[] {
    return this.#take(isStreamFault, camera);
  }

  /** How late the recordings of a camera are; undefined = they are there at once. */
  lateness(camera: string): Lateness | undefined {
    return this.#armed
      .map(({ fault }) => fault)
      .filter((fault) => fault.kind === 'recording-late')
      .find((fault) => fault.camera === undefined || fault.camera === camera);
  }

  /** True where a fault of this kind meets the description of the camera. */
  inDescription(kind: DescriptionFault['kind'], camera: string): boolean {
    return this.#take((fault): fault is OfKind<typeof kind> => fault.kind === kind, camera).length > 0;
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

function isStreamFault(fault: RtspFault): fault is StreamFault {
  return STREAM_KINDS.some((kind) => kind === fault.kind);
}
