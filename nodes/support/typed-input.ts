import type { Node, NodeAPI, NodeMessage } from 'node-red';
import type { RtspWanted } from '../../lib/cloud/calls';
import { RvmError } from '../../lib/error';
import type { RvmEvent } from '../../lib/event';
import { isRecord } from '../../lib/json/json';
import { isUnreadable } from './input';
import {
  choiceOf,
  type Properties,
  strictNumberOf,
  textOf,
  unsetTogether,
  unsetVariableError,
} from './settings';

/** A property of a node whose type is in `<name>Type`. */
export interface TypedInput {
  properties: Properties;
  name: string;
  byDefault: { value: string; type: string };
}

/**
 * The value of a typed input.
 * @throws RvmError BAD_INPUT where it cannot be evaluated, such as an invalid JSONata expression;
 *   CONFIG_MISSING for an environment variable that is not set
 */
export async function typedValue(
  RED: NodeAPI,
  node: Node,
  input: TypedInput,
  msg: NodeMessage,
): Promise<unknown> {
  const { value, type } = chosen(input);
  if (type === 'env') refuseUnsetVariables(RED, node, value);
  // Node-RED evaluates an empty field as 0, which may be a valid id.
  if (type === 'num' && value.trim() === '') return undefined;
  const { found } = await new Promise<{ found: unknown }>((resolve, reject) => {
    const failed = (error: unknown): void => {
      // The message lacks the parent of the property, unless the message throws whenever it is read.
      if (type === 'msg' && !isUnreadable(msg)) resolve({ found: undefined });
      else reject(cannotEvaluate(input, reasonOf(error)));
    };
    try {
      RED.util.evaluateNodeProperty(value, type, node, msg, (error, found) => {
        if (error) failed(error);
        else resolve({ found });
      });
    } catch (error) {
      failed(error);
    }
  });
  // Returning it from an async function would await the promise, perhaps for ever.
  if (isThenable(found)) throw cannotEvaluate(input, 'it is a promise, or has a method "then"');
  return found;
}

function cannotEvaluate({ name }: TypedInput, reason: string): RvmError {
  return new RvmError('BAD_INPUT', `The property ${name} of this node cannot be evaluated: ${reason}.`);
}

/** Text of an error of the flow. It may throw when read, which outside of the caller would end Node-RED. */
function reasonOf(error: unknown): string {
  try {
    return String(error instanceof Error ? Reflect.get(error, 'message') : error);
  } catch {
    return 'it throws when it is read';
  }
}

function isThenable(value: unknown): boolean {
  if (typeof value !== 'object' && typeof value !== 'function') return false;
  try {
    return value !== null && typeof Reflect.get(value, 'then') === 'function';
  } catch {
    return true;
  }
}

/**
 * A typed input that contains a text, returned unchanged; a number is converted. '' where it is only white space.
 * @throws RvmError BAD_INPUT for any other type, and those of `typedValue`
 */
export async function typedText(
  RED: NodeAPI,
  node: Node,
  input: TypedInput,
  msg: NodeMessage,
): Promise<string> {
  const value = await typedValue(RED, node, input, msg);
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value.trim() === '' ? '' : value;
  if (typeof value === 'number' && Number.isFinite(value)) return `${value}`;
  throw new RvmError(
    'BAD_INPUT',
    `The ${input.name} in ${sourceOf(input)} is neither a text nor a number: correct the node or the message.`,
  );
}

/** Source of a typed input, for use in a sentence. */
export function sourceOf(input: TypedInput): string {
  const { value, type } = chosen(input);
  switch (type) {
    case 'msg':
    case 'flow':
    case 'global':
      return `${type}.${value}`;
    case 'env':
      return `the environment variable ${value}`;
    case 'jsonata':
      return 'the JSONata expression of this node';
    default:
      return 'this node';
  }
}

function chosen({ properties, name, byDefault }: TypedInput): { value: string; type: string } {
  return {
    value: textOf(properties, name, byDefault.value),
    type: textOf(properties, `${name}Type`, byDefault.type),
  };
}

/** Node-RED returns '' for a variable that is not set, alone or as `${NAME}` inside of a text. */
function refuseUnsetVariables(RED: NodeAPI, node: Node, value: string): void {
  const inside = [...value.matchAll(/\$\{([^}]+)\}/g)].map(([, name]) => name ?? '');
  const names = inside.length > 0 ? inside : [value];
  const unset = unsetTogether(names.filter((name) => RED.util.getSetting(node, name) === undefined));
  if (unset !== undefined) throw unsetVariableError(unset);
}

const EVENT_CAMERA = { value: 'event.cameraId', type: 'msg' };

/**
 * The camera in the properties `camera` and `cameraType`, by default that of the event.
 * @returns id, remote id or name; the client finds out which
 * @throws RvmError BAD_INPUT where there is none, CONFIG_MISSING for an environment variable that is not set
 */
export async function cameraOf(
  RED: NodeAPI,
  node: Node,
  properties: Properties,
  msg: NodeMessage,
): Promise<string> {
  const input = { properties, name: 'camera', byDefault: EVENT_CAMERA };
  const camera = await typedText(RED, node, input, msg);
  if (camera !== '') return camera;
  throw new RvmError(
    'BAD_INPUT',
    `There is no camera in ${sourceOf(input)}: give its id, remote id or name there, or choose another place in this node.`,
  );
}

const TIME = { value: '', type: 'str' };

/**
 * The video requested of a node: of the event in the message, or of a camera, by the properties `mode`, `camera`, `time`,
 * `preRoll`, `quality` and `whenOffline`.
 * @param preRoll default in seconds by which the video starts earlier
 * @throws RvmError BAD_INPUT, CONFIG_MISSING
 */
export async function videoOf(
  RED: NodeAPI,
  node: Node,
  properties: Properties,
  msg: NodeMessage,
  preRoll = 0,
): Promise<RtspWanted> {
  const mode = choiceOf(properties, 'mode', ['event', 'recorded', 'live']);
  const choice = {
    quality: textOf(properties, 'quality').trim(),
    whenOffline: choiceOf(properties, 'whenOffline', ['fail', 'try']),
  };
  const earlier = (): { preRoll: number } => ({ preRoll: strictNumberOf(properties, 'preRoll', preRoll) });
  switch (mode) {
    case 'event':
      return { mode, event: eventIn(msg), ...earlier(), ...choice };
    case 'recorded': {
      const camera = await cameraOf(RED, node, properties, msg);
      const time = await timeOf(RED, node, properties, msg);
      return { mode, camera, time, ...earlier(), ...choice };
    }
    case 'live':
      return { mode, camera: await cameraOf(RED, node, properties, msg), ...choice };
    default:
      return mode satisfies never;
  }
}

/** The event of *webhook in*: its copy in `msg.event` survives nodes that replace the payload. */
function eventIn(msg: NodeMessage): RvmEvent {
  const event = msg.event ?? msg.payload;
  if (isRecord(event) && !Buffer.isBuffer(event)) return event;
  throw new RvmError(
    'BAD_INPUT',
    'No event in msg.event or msg.payload: wire this node behind a webhook in node.',
  );
}

/** The time as entered; the client checks that it is readable. */
async function timeOf(RED: NodeAPI, node: Node, properties: Properties, msg: NodeMessage): Promise<unknown> {
  const input = { properties, name: 'time', byDefault: TIME };
  const time = (await typedValue(RED, node, input, msg)) ?? '';
  if (time !== '') return time;
  throw new RvmError(
    'BAD_INPUT',
    `There is no time in ${sourceOf(input)}: give ISO 8601, such as 2026-03-04T05:06:07Z, or milliseconds since 1970.`,
  );
}
