import { createHash } from 'node:crypto';
import type { NodeAPI, NodeDef } from 'node-red';
import type { CloudNode } from '../rvm-cloud/cloud-node';
import { onFlows } from '../support/flow-run';
import { registerNode } from '../support/register';
import { allStations } from './find-station';
import { Station, type CentralStationNode } from './station';

interface Config extends NodeDef {
  cloud?: string;
}

function build(RED: NodeAPI, node: CentralStationNode, config: Config): void {
  const cloud = config.cloud ? (RED.nodes.getNode(config.cloud) as CloudNode | null | undefined) : undefined;
  node.station = new Station(RED, node, config, cloud ?? undefined);

  const endCheck = onFlows(RED, 'started', () => reportClashes(RED, node));
  node.on('close', (_removed: boolean, done: () => void) => {
    endCheck();
    node.station.close().then(done, done);
  });
}

/** Keys and phrases tell stations apart, so two of a kind are reported on both. */
function reportClashes(RED: NodeAPI, node: CentralStationNode): void {
  const mine = node.station;
  for (const other of allStations(RED)) {
    if (other === mine) continue;
    if (other.key === mine.key) {
      node.error(
        `The key "${mine.key}" belongs to the Central Station "${other.name}" too: give each its own.`,
      );
    }
    if (sharePhrase(mine, other)) {
      node.error(
        `The Central Stations "${mine.name}" and "${other.name}" have the same Shared Secret Phrase: give each its own.`,
      );
    }
  }
}

function sharePhrase(one: Station, other: Station): boolean {
  const phrase = one.receiving().secret;
  return phrase !== '' && digest(phrase) === digest(other.receiving().secret);
}

/** Phrases are compared by digest, so that the comparison tells nothing of their content. */
function digest(phrase: string): string {
  return createHash('sha256').update(phrase).digest('hex');
}

export = (RED: NodeAPI): void => {
  registerNode<CentralStationNode, Config>(
    RED,
    'rvm-central-station',
    (node, config) => build(RED, node, config),
    {
      username: { type: 'text' },
      password: { type: 'password' },
      secret: { type: 'password' },
      previousSecret: { type: 'password' },
    },
  );
};
