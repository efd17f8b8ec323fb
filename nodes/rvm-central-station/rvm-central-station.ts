import type { NodeAPI } from 'node-red';
import type { CloudNode } from '../rvm-cloud/connection';
import { onFlowsState } from '../support/flows';
import { type NodeConfig, nodeIsNewEnough, registerNode } from '../support/register';
import { allStations, checkPhrases, quotedNames, Station, type CentralStationNode } from './station';
import { KEY, looksLikeApiKey } from '../support/rules';
import { textOf } from '../support/settings';
import { addStationRoutes } from './station-routes';

function build(RED: NodeAPI, node: CentralStationNode, config: NodeConfig): void {
  const cloud = RED.nodes.getNode(textOf(config, 'cloud')) as CloudNode | null | undefined;
  node.station = new Station(RED, node, config, cloud ?? undefined);
  // A warning only, and the flows run on: the key may be no secret of the service, so the user decides.
  if (isSecretKey(config)) node.warn(RED._('rvm-central-station.log.keyIsApiKey'));

  const endCheck = onFlowsState(RED, 'started', () => reportClashes(RED, node, config));
  node.on('close', (_removed: boolean, done: () => void) => {
    endCheck();
    node.station.close().then(done, done);
  });
}

/** True where the key that was entered looks like a secret. A key derived from a name or an id never does. */
function isSecretKey({ key }: NodeConfig): boolean {
  return typeof key === 'string' && looksLikeApiKey(key);
}

/** Keys identify stations, so a duplicate key is reported on both stations, and an invalid key on its own. */
function reportClashes(RED: NodeAPI, node: CentralStationNode, config: NodeConfig): void {
  const mine = node.station;
  mine.clash = !KEY.test(mine.key);
  const report = (fault: string, values: Record<string, string>): void =>
    node.error(RED._(`rvm-central-station.log.${fault}`, values));
  const key = isSecretKey(config) ? '***' : mine.key;
  if (mine.clash) report('noKey', { key });
  const others = allStations(RED).filter((other) => other !== mine);
  const sameKey = others.filter(({ key }) => key === mine.key);
  if (sameKey.length > 0) {
    mine.clash = true;
    report('sameKey', { key, others: quotedNames(sameKey) });
  }
}

export = (RED: NodeAPI): void => {
  if (nodeIsNewEnough()) {
    addStationRoutes(RED);
    // Registered before any node hears of the start, so that a webhook in can rely on the result.
    onFlowsState(RED, 'started', () => checkPhrases(RED));
  }
  registerNode(RED, 'rvm-central-station', build, {
    credentials: {
      username: { type: 'text' },
      password: { type: 'password' },
      secret: { type: 'password' },
      previousSecret: { type: 'password' },
    },
  });
};
