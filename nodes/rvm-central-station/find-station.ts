import type { NodeAPI, NodeMessage } from 'node-red';
import { RvmError } from '../../lib/error';
import type { CentralStationNode, Station } from './station';

const TYPE = 'rvm-central-station';

/** The live station of a config node id, if there is one. */
export function stationById(RED: NodeAPI, id: string): Station | undefined {
  if (id === '') return undefined;
  const node = RED.nodes.getNode(id) as CentralStationNode | undefined | null;
  return node?.station;
}

/** Every live station, in the order of the flow file. */
export function allStations(RED: NodeAPI): Station[] {
  return stationsWhere(RED, () => true);
}

/** Every live station of one cloud. */
export function stationsOfCloud(RED: NodeAPI, cloudId: string): Station[] {
  return stationsWhere(RED, (config) => config.cloud === cloudId);
}

/** Key of the station of this process that an Agent User belongs to, to tell a foreign event. */
export function stationOfAgentUser(RED: NodeAPI, agentUserId: string): string | undefined {
  const wanted = agentUserId.toLowerCase();
  if (wanted === '') return undefined;
  const receiving = allStations(RED).map((station) => station.receiving());
  return receiving.find((station) => station.agentUserId.toLowerCase() === wanted)?.key;
}

/**
 * The station that is chosen in a node.
 * @throws RvmError CONFIG_MISSING where it is not there.
 */
export function chosenStation(RED: NodeAPI, id: string): Station {
  const station = stationById(RED, id);
  if (station !== undefined) return station;
  throw new RvmError(
    'CONFIG_MISSING',
    'The Central Station of this node is missing or disabled: choose another.',
  );
}

/**
 * The station a message is for: the node's property, else `msg.station` (a key), else the station of the event.
 * @throws RvmError CONFIG_MISSING where none of them names one.
 */
export function stationOfMessage(RED: NodeAPI, configuredId: string, msg: NodeMessage): Station {
  if (configuredId !== '') return chosenStation(RED, configuredId);
  const key = textIn(msg, 'station') ?? textIn(msg.webhook, 'station');
  if (key === undefined) {
    throw new RvmError(
      'CONFIG_MISSING',
      'No Central Station: choose one in this node, or set msg.station to the short name of one.',
    );
  }
  const station = allStations(RED).find((candidate) => candidate.key === key);
  if (station !== undefined) return station;
  throw new RvmError(
    'CONFIG_MISSING',
    'No Central Station has the short name that the message gives: check msg.station.',
  );
}

function stationsWhere(RED: NodeAPI, wanted: (config: { cloud?: unknown }) => boolean): Station[] {
  const stations: Station[] = [];
  RED.nodes.eachNode((config) => {
    if (config.type !== TYPE || !wanted(config as { cloud?: unknown })) return;
    const station = stationById(RED, config.id);
    if (station !== undefined) stations.push(station);
  });
  return stations;
}

function textIn(holder: unknown, name: string): string | undefined {
  if (holder === null || typeof holder !== 'object') return undefined;
  const value = (holder as Record<string, unknown>)[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
