import type { Node, NodeAPI, NodeDef, NodeMessage } from 'node-red';
import { RvmError } from '../../lib/error';
import type { RvmEvent } from '../../lib/event';
import { isRecord } from '../../lib/json-record';
import { serviceNode } from '../rvm-central-station/service-node';
import { registerNode } from '../support/register';
import { choiceOf, textOf, type Properties } from '../support/settings';

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };

  serviceNode(RED, node, config, async (msg, client, signal) => {
    choiceOf(properties, 'mode', ['event']);
    const quality = textOf(properties, 'quality');
    const wanted = { mode: 'event', event: eventIn(msg), preRoll: 0, quality, whenOffline: 'fail' } as const;
    const rtsp = await client.openRtsp(wanted, { signal });
    msg.payload = rtsp.url;
    msg.rtsp = rtsp;
  });
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

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-get-rtsp', (node, config: NodeDef) => build(RED, node, config));
};
