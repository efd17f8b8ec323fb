import type { RvmError, RvmErrorCode } from '../../error';

/** What a status dot can say about the connection of one Central Station. */
export type StationState =
  | { kind: 'idle' }
  | { kind: 'logging-in' }
  /** `version` is the one the service chose; undefined where it named none. */
  | { kind: 'connected'; version: string | undefined }
  | { kind: 'offline'; since: Date; error: RvmError }
  /** The service answers, but not to us: wrong key, wrong password, incompatible version, bad settings. */
  | { kind: 'refused'; error: RvmError };

export type StateListener = (state: StationState) => void;

/** Codes that only the user can cure; all others are a service that is out of reach. */
const REFUSALS: ReadonlySet<RvmErrorCode> = new Set<RvmErrorCode>([
  'CONFIG_MISSING',
  'BAD_INPUT',
  'API_KEY_REJECTED',
  'LOGIN_FAILED',
  'INCOMPATIBLE_VERSION',
  'VERSION_NOT_REQUESTED',
  'PERMISSION_DENIED',
  'LINK_NOT_OFFERED',
  'UNTRUSTED_LINK',
]);

export function isRefusal(error: RvmError): boolean {
  return REFUSALS.has(error.code);
}

/** The present state and those who want to hear of its changes. */
export class StateBoard {
  #state: StationState = { kind: 'idle' };
  readonly #listeners = new Set<StateListener>();

  /** @param fitToTell an error as it may be told */
  constructor(private readonly fitToTell: (error: RvmError) => RvmError = (error) => error) {}

  get state(): StationState {
    return this.#state;
  }

  /** @returns a function that ends the listening */
  onState(listener: StateListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  idle(): void {
    this.#set({ kind: 'idle' });
  }

  /** A login that is tried again and again shows as the failure it has been so far. */
  loggingIn(): void {
    if (this.#state.kind === 'offline' || this.#state.kind === 'refused') return;
    this.#set({ kind: 'logging-in' });
  }

  connected(version: string | undefined): void {
    if (this.#state.kind === 'connected' && this.#state.version === version) return;
    this.#set({ kind: 'connected', version });
  }

  /** `offlineSince` keeps the first moment over the attempts in between. */
  failed(failure: RvmError, offlineSince: Date): void {
    const error = this.fitToTell(failure);
    this.#set(
      isRefusal(error) ? { kind: 'refused', error } : { kind: 'offline', since: offlineSince, error },
    );
  }

  clear(): void {
    this.#listeners.clear();
  }

  #set(state: StationState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }
}
