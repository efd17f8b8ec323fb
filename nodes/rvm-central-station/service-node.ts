import type { Node, NodeAPI, NodeDef, NodeMessageInFlow, NodeStatus } from 'node-red';
import type { CallOptions } from '../../lib/cloud/calls';
import { DEADLINE_S } from '../../lib/limits';
import type { StationClient } from '../../lib/cloud/station-client';
import { FailureStatus, onInput, type Messages } from '../support/input';
import {
  strictNumberOf,
  textOf,
  unsetTogether,
  unsetVariableError,
  unsetVariables,
  type Properties,
} from '../support/settings';
import { showFromStart, status, unsetStatus } from '../support/status';
import { stationById, stationOfMessage } from './find-station';
import { LastStation } from './last-station';
import type { Station } from './station';

/**
 * What a node that calls the service does with one message: it changes that, or returns those that leave in its place.
 * `options` go with each call: they tell how long the message may take, and that the node closes.
 */
export type ServiceWork = (
  msg: NodeMessageInFlow,
  client: StationClient,
  options: CallOptions,
  station: Station,
) => Promise<Messages | void>;

export interface ServiceNodeOptions {
  /** Seconds that a message may take where the node does not say. */
  deadlineS?: number;
  /** What this node lacks beyond its station; undefined where it lacks nothing. */
  lack?: () => NodeStatus | undefined;
}

/**
 * What all nodes that call the service share: the station of the message, its status on the node and that of the last failure,
 * the two outputs, the deadline, and the refusal of variables that are not set.
 * @returns what it shows
 */
export function serviceNode(
  RED: NodeAPI,
  node: Node,
  config: NodeDef,
  work: ServiceWork,
  { deadlineS = DEADLINE_S, lack = () => undefined }: ServiceNodeOptions = {},
): FailureStatus {
  const properties: Properties = { ...config };
  const stationId = textOf(properties, 'station');
  const station = stationById(RED, stationId);
  const ofNode = unsetVariables(config);
  const unset = ofNode && unsetTogether(ofNode, station?.unsetVariables);
  const last = stationId === '' && unset === undefined ? new LastStation(RED, node) : undefined;

  const own = (): NodeStatus => {
    if (unset !== undefined) return unsetStatus(RED, unset);
    const lacking = lack();
    if (lacking !== undefined) return lacking;
    if (last !== undefined) return last.status();
    return station?.status() ?? status(RED, 'notConfigured');
  };
  const shown = new FailureStatus(node, own);
  const show = (): void => shown.show();
  if (last !== undefined) last.onChange(show);
  else showFromStart(RED, node, () => shown.current());
  if (unset === undefined) station?.serve(node, show);

  const answer = async (msg: NodeMessageInFlow, signal: AbortSignal): Promise<Messages | void> => {
    if (unset !== undefined) throw unsetVariableError(unset);
    const wanted = stationOfMessage(RED, stationId, msg);
    last?.follow(wanted);
    const deadlineMs = strictNumberOf(properties, 'deadline', deadlineS, 1) * 1000;
    return work(msg, await wanted.client(), { signal, deadlineMs }, wanted);
  };
  onInput(node, answer, (failure) => shown.ended(failure));
  return shown;
}
