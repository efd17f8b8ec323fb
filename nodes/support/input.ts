import type { Node, NodeMessage, NodeMessageInFlow, NodeStatus } from 'node-red';
import { RvmError } from '../../lib/error';
import type { Actor } from '../../lib/inbox/history';
import { isRecord } from '../../lib/json/json';
import type { Request } from './admin-routes';
import { failureStatus } from './status';

const FAILED_OUTPUT = 1;
/** Where not even Catch nodes can be given a message. */
const UNTOLD = 'BAD_INPUT: a message cannot be used, nor passed on: it throws when it is read.';

type Send = (msg: NodeMessage | (NodeMessage | null)[]) => void;
type Done = (error?: Error) => void;

interface InputCall {
  msg: NodeMessageInFlow;
  send: Send;
  done: Done;
}

/** What Catch nodes and output 2 get of a failure: plain values. */
interface MessageError {
  message: string;
  code: string;
  cause: Record<string, unknown>;
}

/** Several messages that leave by the first output, one after the other, in place of the one that came in. */
export type Messages = AsyncIterable<NodeMessage>;

/**
 * Runs a node with two outputs: a failure leaves output 2 where that is wired, else Catch nodes get it. `work` changes the
 * message it is given, and returns the output it leaves by, counted from 0; the first unless said. Or it returns the messages
 * that leave instead. It is told by `signal` that the node is closing.
 * @param ended told of each outcome, before Node-RED is: of the failure, or of none. Not of a node that is closing
 */
export function onInput(
  node: Node,
  work: (msg: NodeMessageInFlow, signal: AbortSignal) => Promise<number | Messages | void>,
  ended: (failure?: RvmError) => void = () => undefined,
): void {
  const closing = new AbortController();

  /** An answer for a node that has been redeployed goes nowhere: false. */
  const leave = (leaving: Parameters<Send>[0], send: Send): boolean => {
    if (!closing.signal.aborted) send(leaving);
    return !closing.signal.aborted;
  };

  const tell = (failure?: RvmError): void => {
    if (!closing.signal.aborted) ended(failure);
  };

  const handle = async (msg: NodeMessageInFlow, send: Send, done: Done): Promise<void> => {
    try {
      const outcome = (await work(msg, closing.signal)) ?? 0;
      if (typeof outcome === 'number') leave([...Array<null>(outcome).fill(null), msg], send);
      else for await (const each of outcome) if (!leave(each, send)) break;
    } catch (error) {
      const failure = asRvmError(error, msg);
      tell(failure);
      return fail(node, failure, { msg, send, done });
    }
    tell();
    done();
  };

  node.on('input', (msg, send, done) => {
    // A message that throws does so in Node-RED as well, which would end with it.
    handle(msg, send, done).catch(() => node.error(UNTOLD));
  });
  node.on('close', (_removed: boolean, done: () => void) => {
    closing.abort();
    done();
  });
}

/** A failure for Catch nodes, as output 2 of others has it. */
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

/** Output 2 where it is wired, else Catch nodes; those too if the message itself cannot be sent on. */
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

/** An error that is not ours is one of the message, or a fault in our code: its text may hold anything, so only its kind is passed on. */
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

/** Values of a message that are looked at, and how deep. */
const MOST = 10_000;
const DEEPEST = 16;

/**
 * Whether a message has a getter or a Proxy in it that throws. It is looked for once something has gone wrong: of a throw itself
 * nobody can tell whose it is.
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

/** Whether anything is wired to an output, counted from 0. Asked at each message: a partial deploy changes wires only. */
export function isWired(node: Node, output: number): boolean {
  const { wires } = node as Node & { wires?: readonly (readonly string[])[] };
  return (wires?.[output]?.length ?? 0) > 0;
}

/** A node that does something with an event, as the history of that knows it. */
export function actorOf({ id, name }: Pick<Node, 'id' | 'name'>): Actor {
  return { node: { id, name: name ?? '' } };
}

/** The user of the editor who asks; nobody where it asks for no login. */
export function userOf(req: Request): Actor {
  const user: unknown = Reflect.get(req, 'user');
  const name = isRecord(user) ? user['username'] : undefined;
  return typeof name === 'string' ? { user: name } : {};
}

/**
 * What a node shows that answers messages: its own status and, in the place of that, what it is at, or why its last message
 * failed, until one succeeds: a failure that leaves by output 2 shows nowhere else. Only a red status of its own goes before, for
 * it tells what is wrong with every message.
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

  /** What the node is at; undefined where it is at nothing. */
  progress(progress: NodeStatus | undefined): void {
    const before = this.current();
    this.#progress = progress;
    if (!isSame(before, this.current())) this.show();
  }

  /** A message has failed, or succeeded. What changes nothing is not looked at again: that costs as much as a message. */
  ended(failure: RvmError | undefined): void {
    if (failure?.code === this.#code) return;
    const before = this.current();
    this.#code = failure?.code;
    if (!isSame(before, this.current())) this.show();
  }
}

/** True where nobody could tell the one from the other. */
function isSame(one: NodeStatus, other: NodeStatus): boolean {
  return one.fill === other.fill && one.shape === other.shape && one.text === other.text;
}
