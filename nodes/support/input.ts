import type { Node, NodeMessage, NodeMessageInFlow, NodeStatus } from 'node-red';
import { RvmError } from '../../lib/error';
import type { Actor } from '../../lib/inbox/model';
import { isRecord } from '../../lib/json/json';
import type { Request } from './admin-routes';
import { failureStatus } from './status';

const FAILED_OUTPUT = 1;
/** Logged where a message cannot be passed even to Catch nodes. */
const UNTOLD = 'BAD_INPUT: a message cannot be used, nor passed on: it throws when it is read.';

type Send = (msg: NodeMessage | (NodeMessage | null)[]) => void;
type Done = (error?: Error) => void;

interface InputCall {
  msg: NodeMessageInFlow;
  send: Send;
  done: Done;
}

/** Failure as plain values, for Catch nodes and output 2. */
interface MessageError {
  message: string;
  code: string;
  cause: Record<string, unknown>;
}

/** Messages that leave by the first output one after the other, instead of the received one. */
export type Messages = AsyncIterable<NodeMessage>;

/**
 * Runs a node with two outputs: a failure leaves by output 2 where that is wired, else it goes to Catch
 * nodes. `work` changes its message and returns the output for it, counted from 0; the first by default. Or
 * it returns messages to send instead. `signal` is aborted when the node closes.
 * @param ended called with each outcome, before Node-RED is notified: the failure, or undefined. Not called
 *   after the node has closed
 */
export function onInput(
  node: Node,
  work: (msg: NodeMessageInFlow, signal: AbortSignal) => Promise<number | Messages | void>,
  ended: (failure?: RvmError) => void = () => undefined,
): void {
  const closing = new AbortController();

  /** Sends unless the node was closed, for example by a redeploy. Returns false then. */
  const leave = (leaving: Parameters<Send>[0], send: Send): boolean => {
    if (!closing.signal.aborted) send(leaving);
    return !closing.signal.aborted;
  };

  const report = (failure?: RvmError): void => {
    if (!closing.signal.aborted) ended(failure);
  };

  const handle = async (msg: NodeMessageInFlow, send: Send, done: Done): Promise<void> => {
    try {
      const outcome = (await work(msg, closing.signal)) ?? 0;
      if (typeof outcome === 'number') leave([...Array<null>(outcome).fill(null), msg], send);
      else for await (const each of outcome) if (!leave(each, send)) break;
    } catch (error) {
      const failure = asRvmError(error, msg);
      report(failure);
      return fail(node, failure, { msg, send, done });
    }
    report();
    done();
  };

  node.on('input', (msg, send, done) => {
    // A message that throws when read also throws in Node-RED, which an unhandled rejection would end.
    handle(msg, send, done).catch(() => node.error(UNTOLD));
  });
  node.on('close', (_removed: boolean, done: () => void) => {
    closing.abort();
    done();
  });
}

/** Reports a failure to Catch nodes, in the same form as on output 2. */
export function toCatchNodes(thrown: unknown, { msg, done }: Pick<InputCall, 'msg' | 'done'>): void {
  const failure = asRvmError(thrown, msg);
  try {
    msg.error = messageError(failure);
  } finally {
    done(failure);
  }
}

function messageError({ message, code, cause }: RvmError): MessageError {
  return { message, code, cause: { ...cause } };
}

/**
 * Sends a failure by output 2 where that is wired, else to Catch nodes; also to them where the message itself cannot be sent.
 */
function fail(node: Node, failure: RvmError, { msg, send, done }: InputCall): void {
  try {
    msg.error = messageError(failure);
    if (!isWired(node, FAILED_OUTPUT)) return done(failure);
    send([null, msg]);
  } catch {
    return done(failure);
  }
  done();
}

/** Other errors come from the message or from a bug: their text may contain anything, so only the kind is passed on. */
function asRvmError(error: unknown, msg: NodeMessageInFlow): RvmError {
  if (error instanceof RvmError) return error;
  if (isUnreadable(msg)) {
    return new RvmError(
      'BAD_INPUT',
      'Something in this message throws when it is read: pass on plain values, no getters and no Proxy.',
    );
  }
  const kind = error instanceof Error ? error.name : typeof error;
  return new RvmError('BAD_RESPONSE', `Unexpected ${kind} while the message was handled: please report it.`);
}

/** Limits of the search: number of values, and depth. */
const MOST = 10_000;
const DEEPEST = 16;

/**
 * True where a message contains a getter or a Proxy that throws. Checked only after a failure, because a thrown error does not
 * show its origin.
 */
export function isUnreadable(msg: object): boolean {
  try {
    readAll(msg, DEEPEST, { left: MOST });
    return false;
  } catch {
    return true;
  }
}

function readAll(value: unknown, depth: number, budget: { left: number }): void {
  if (typeof value !== 'object' || value === null || depth === 0) return;
  for (const key of Object.keys(value)) {
    budget.left -= 1;
    if (budget.left < 0) return;
    readAll(Reflect.get(value, key), depth - 1, budget);
  }
}

/** True where an output, counted from 0, is wired. Checked for each message, because a partial deploy may change only wires. */
export function isWired(node: Node, output: number): boolean {
  const { wires } = node as Node & { wires?: readonly (readonly string[])[] };
  return (wires?.[output]?.length ?? 0) > 0;
}

/** Actor of a history entry for a node that acts on an event. */
export function actorOf({ id, name }: Pick<Node, 'id' | 'name'>): Actor {
  return { node: { id, name: name ?? '' } };
}

/** Actor for the user of an editor request; empty without user authentication. */
export function userOf(req: Request): Actor {
  const user: unknown = Reflect.get(req, 'user');
  const name = isRecord(user) ? user['username'] : undefined;
  return typeof name === 'string' ? { user: name } : {};
}

/**
 * Status of a node that handles messages: its own, replaced by the progress, or by the last failure until a message succeeds,
 * because a failure on output 2 shows nowhere else. A red status of its own has precedence: it concerns every message.
 */
export class FailureStatus {
  #code: RvmError['code'] | undefined;
  #progress: NodeStatus | undefined;

  constructor(
    private readonly node: Pick<Node, 'status'>,
    private readonly own: () => NodeStatus,
  ) {}

  current(): NodeStatus {
    const own = this.own();
    if (own.fill === 'red') return own;
    return this.#progress ?? (this.#code === undefined ? own : failureStatus(this.#code));
  }

  show(): void {
    this.node.status(this.current());
  }

  /** Sets the progress; undefined where nothing is in progress. */
  progress(progress: NodeStatus | undefined): void {
    const before = this.current();
    this.#progress = progress;
    if (!isSame(before, this.current())) this.show();
  }

  /** Notes the outcome of a message. Returns early where nothing changes: computing the status costs as much as a message. */
  ended(failure: RvmError | undefined): void {
    if (failure?.code === this.#code) return;
    const before = this.current();
    this.#code = failure?.code;
    if (!isSame(before, this.current())) this.show();
  }
}

/** True where both look the same. */
function isSame(one: NodeStatus, other: NodeStatus): boolean {
  return one.fill === other.fill && one.shape === other.shape && one.text === other.text;
}
