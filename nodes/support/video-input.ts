import type { Node, NodeAPI, NodeMessage } from 'node-red';
import type { RtspWanted } from '../../lib/cloud/calls';
import { RvmError } from '../../lib/error';
import type { RvmEvent } from '../../lib/event';
import { isRecord } from '../../lib/json/json';
import { cameraOf } from './camera-input';
import { choiceOf, strictNumberOf, textOf, type Properties } from './settings';
import { placeOf, typedValue } from './typed-input';

const TIME = { value: '', type: 'str' };

/**
 * The video that a node is asked for: of the event in the message, or of a camera of choice, by the properties `mode`,
 * `camera`, `time`, `preRoll`, `quality` and `whenOffline`.
 * @param preRoll seconds that the video begins earlier where the node does not say
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

/** Whether it can be read, the client says. */
async function timeOf(RED: NodeAPI, node: Node, properties: Properties, msg: NodeMessage): Promise<unknown> {
  const input = { properties, name: 'time', byDefault: TIME };
  const time = (await typedValue(RED, node, input, msg)) ?? '';
  if (time !== '') return time;
  throw new RvmError(
    'BAD_INPUT',
    `There is no time in ${placeOf(input)}: give ISO 8601, such as 2026-03-04T05:06:07Z, or milliseconds since 1970.`,
  );
}
