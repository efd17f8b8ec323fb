import type { Node, NodeAPI, NodeDef, NodeMessage } from 'node-red';
import type { RtspWanted } from '../../lib/cloud/calls';
import { DEADLINE_S } from '../../lib/cloud/choices';
import { RvmError } from '../../lib/error';
import type { RvmEvent } from '../../lib/event';
import { isRecord } from '../../lib/json/json-record';
import { serviceNode } from '../rvm-central-station/service-node';
import { cameraOf } from '../support/camera-input';
import { registerNode } from '../support/register';
import { choiceOf, strictNumberOf, textOf, type Properties } from '../support/settings';
import { placeOf, typedValue } from '../support/typed-input';

const TIME = { value: '', type: 'str' };

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };

  serviceNode(RED, node, config, async (msg, client, signal) => {
    const deadlineMs = strictNumberOf(properties, 'deadline', DEADLINE_S, 1) * 1000;
    const rtsp = await client.openRtsp(await wantedOf(RED, node, properties, msg), { signal, deadlineMs });
    msg.payload = rtsp.url;
    msg.rtsp = rtsp;
  });
}

/** @throws RvmError BAD_INPUT, CONFIG_MISSING */
async function wantedOf(
  RED: NodeAPI,
  node: Node,
  properties: Properties,
  msg: NodeMessage,
): Promise<RtspWanted> {
  const mode = choiceOf(properties, 'mode', ['event', 'recorded', 'live']);
  const choice = {
    quality: textOf(properties, 'quality').trim(),
    whenOffline: choiceOf(properties, 'whenOffline', ['fail', 'try']),
  };
  const preRoll = (): number => strictNumberOf(properties, 'preRoll', 0);
  switch (mode) {
    case 'event':
      return { mode, event: eventIn(msg), preRoll: preRoll(), ...choice };
    case 'recorded': {
      const camera = await cameraOf(RED, node, properties, msg);
      const time = await timeOf(RED, node, properties, msg);
      return { mode, camera, time, preRoll: preRoll(), ...choice };
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

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-get-rtsp', (node, config: NodeDef) => build(RED, node, config));
};
