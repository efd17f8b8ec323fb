/** The codes that a user's flow can rely on. Meanings and remedies: docs/errors.md. */
export type RvmErrorCode =
  | 'CONFIG_MISSING'
  | 'BAD_INPUT'
  | 'API_KEY_REJECTED'
  | 'LOGIN_FAILED'
  | 'INCOMPATIBLE_VERSION'
  | 'VERSION_NOT_REQUESTED'
  | 'PERMISSION_DENIED'
  | 'LINK_NOT_OFFERED'
  | 'UNTRUSTED_LINK'
  | 'DEVICE_NOT_FOUND'
  | 'DEVICE_OFFLINE'
  | 'EVENT_WITHOUT_CAMERA'
  | 'TARGET_NOT_FOUND'
  | 'CAMERA_BUSY'
  | 'BAD_RESPONSE'
  | 'HTTP_ERROR'
  | 'RATE_LIMITED'
  | 'TIMEOUT'
  | 'NETWORK'
  | 'TLS'
  | 'CANCELLED'
  | 'VIDEO_NOT_YET'
  | 'VIDEO_FAILED'
  | 'VIDEO_BUSY'
  | 'DECODER_MISSING'
  | 'STORE_FAILED'
  | 'UNKNOWN_DELIVERY';

/** Origin of a failure. Plain values only, because Catch nodes get nothing else of an Error. */
export interface RvmErrorCause {
  /** HTTP status of the service, or of a proxy that refuses the connection to the service; RTSP status of a video relay. */
  status?: number;
  /** Relation that was being followed, such as `rel/devices`. */
  relation?: string;
  /** Code in the service's error body. */
  serverCode?: string;
  /** First usable message of the service's error body, shortened. */
  serverMessage?: string;
  /** Number of requests that were sent. */
  attempts?: number;
}

/**
 * The one error class of the package. Created where the cause is known, and never wrapped again. The message is one sentence
 * that tells the user what to do; it contains no secret, cookie or RTSP URL.
 */
export class RvmError extends Error {
  override readonly name = 'RvmError';
  readonly code: RvmErrorCode;
  override readonly cause: RvmErrorCause;

  constructor(code: RvmErrorCode, message: string, cause: RvmErrorCause = {}) {
    super(message);
    this.code = code;
    this.cause = cause;
  }

  /** The message alone: Node-RED shows this text of an error in Catch nodes and in the log. */
  override toString(): string {
    return this.message;
  }
}

/** Converts a thrown value, or the reason of a cancellation, to an error. */
export function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
