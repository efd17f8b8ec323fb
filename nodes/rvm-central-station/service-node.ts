import type { Node, NodeAPI, NodeDef, NodeMessageInFlow } from 'node-red';
import type { StationClient } from '../../lib/cloud/station-client';
import { onInput, type Messages } from '../support/input';
import { firstUnsetVariable, textOf, unsetVariableError, type Properties } from '../support/settings';
import { showFromStart, status } from '../support/status';
import { stationById, stationOfMessage } from './find-station';
import { LastStation } from './last-station';

/**
 * What a node that calls the service does with one message: it changes that, or returns those that leave in its place.
 * `signal` tells that the node closes.
 */
export type ServiceWork = (
  msg: NodeMessageInFlow,
  client: StationClient,
  signal: AbortSignal,
) => Promise<Messages | void>;

/**
 * What all nodes that call the service share: the station of the message, its status on the node, the two outputs, and
 * the refusal of a variable that is not set.
 */
export function serviceNode(RED: NodeAPI, node: Node, config: NodeDef, work: ServiceWork): void {
  const properties: Properties = { ...config };
  const stationId = textOf(properties, 'station');
  const variable = firstUnsetVariable(config);
  const last = stationId === '' && variable === undefined ? new LastStation(RED, node) : undefined;
  const station = stationById(RED, stationId);
  if (variable !== undefined) showFromStart(RED, node, () => status(RED, 'variableNotSet', { variable }));
  else if (station !== undefined) station.show(node);
  else if (stationId !== '') showFromStart(RED, node, () => status(RED, 'notConfigured'));

  onInput(node, async (msg, signal) => {
    if (variable !== undefined) throw unsetVariableError(variable);
    const wanted = stationOfMessage(RED, stationId, msg);
    last?.follow(wanted);
    return work(msg, await wanted.client(), signal);
  });
}
