import type { Node, NodeAPI, NodeDef, NodeMessageInFlow } from 'node-red';
import type { StationClient } from '../../lib/cloud/station-client';
import { onInput } from '../support/input';
import { firstUnsetVariable, textOf, unsetVariableError, type Properties } from '../support/settings';
import { showFromStart, status } from '../support/status';
import { stationById, stationOfMessage } from './find-station';

/** What a node that calls the service does with one message, which it changes; `signal` tells that the node closes. */
export type ServiceWork = (
  msg: NodeMessageInFlow,
  client: StationClient,
  signal: AbortSignal,
) => Promise<void>;

/**
 * What all nodes that call the service share: the station of the message, its status on the node, the two outputs, and
 * the refusal of a variable that is not set.
 */
export function serviceNode(RED: NodeAPI, node: Node, config: NodeDef, work: ServiceWork): void {
  const properties: Properties = { ...config };
  const stationId = textOf(properties, 'station');
  const variable = firstUnsetVariable(config);
  if (variable !== undefined) showFromStart(RED, node, () => status(RED, 'variableNotSet', { variable }));
  else stationById(RED, stationId)?.show(node);

  onInput(node, async (msg, signal) => {
    if (variable !== undefined) throw unsetVariableError(variable);
    const station = stationOfMessage(RED, stationId, msg);
    try {
      await work(msg, await station.client(), signal);
    } finally {
      // A node without a station of its own shows that of its last message.
      if (stationId === '' && !signal.aborted) node.status(station.status());
    }
  });
}
