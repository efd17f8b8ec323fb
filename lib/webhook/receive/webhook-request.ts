import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint } from '../endpoint';
import type { RawMessage } from '../proof/authenticate';
import type { Hold, Watch } from './hold';
import type { Ready } from './ready';

/** One of the paths that the receiver answers for. */
export interface Target {
  path: string;
  /** The endpoint of the path at this moment. */
  endpoint: () => Endpoint | undefined;
  /** Calls back when that, or what it judges by, may have changed. */
  watch: Watch;
}

/** A request on its way through the receiver. */
export interface WebhookRequest {
  req: IncomingMessage;
  res: ServerResponse;
  target: Target;
}

/** A request whose body is complete. */
export interface CompleteRequest extends WebhookRequest {
  body: Buffer;
  received: Date;
  /** When its last byte came, as of `performance.now()`. */
  completeAt: number;
  hold: Hold;
  /** Steady time at which a commit comes too late. */
  commitUntil: number;
}

/** A request that can be judged. */
export interface JudgeableRequest extends CompleteRequest, Ready {
  message: RawMessage;
}
