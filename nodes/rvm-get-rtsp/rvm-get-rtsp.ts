import type { Node, NodeAPI, NodeDef, NodeMessage } from 'node-red';
import { RvmError } from '../../lib/error';
import type { RvmEvent } from '../../lib/event';
import { stationById, stationOfMessage } from '../rvm-central-station/find-station';
import { onInput } from '../support/input';
import { registerNode } from '../support/register';
import {
  choiceOf,
  firstUnsetVariable,
  textOf,
  unsetVariableError,
  type Properties,
} from '../support/settings';
import { status } from '../support/status';

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };
  const stationId = textOf(properties, 'station');
  const unset = firstUnsetVariable(config);
  if (unset !== undefined) node.status(status(RED, 'variableNotSet', { variable: unset }));
  else stationById(RED, stationId)?.show(node);

  onInput(node, async (msg, signal) => {
    if (unset !== undefined) throw unsetVariableError(unset);
    choiceOf(properties, 'mode', ['event']);
    const quality = textOf(properties, 'quality', 'high') || 'high';
    const station = stationOfMessage(RED, stationId, msg);
    const event = eventIn(msg);
    const client = await station.client();
    const rtsp = await client.rtspForEvent(event, { quality, signal });
    msg.payload = rtsp.url;
    msg.rtsp = rtsp;
  });
}

/** The event of *webhook in*: its copy in `msg.event` survives nodes that replace the payload. */
function eventIn(msg: NodeMessage): RvmEvent {
  const event = msg.event ?? msg.payload;
  if (event !== null && typeof event === 'object' && !Array.isArray(event) && !Buffer.isBuffer(event)) {
    return event as RvmEvent;
  }
  throw new RvmError(
    'BAD_INPUT',
    'No event in msg.event or msg.payload: wire this node behind a webhook in node.',
  );
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-get-rtsp', (node, config: NodeDef) => build(RED, node, config));
};
