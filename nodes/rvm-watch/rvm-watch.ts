import type { Node, NodeAPI, NodeDef, NodeStatus } from 'node-red';
import type { ActiveFinding } from '../../lib/watch/findings';
import { onFlowsState } from '../support/flows';
import { registerNode } from '../support/register';
import { listOf, numberOf, unsetVariables, type Properties } from '../support/settings';
import { showFromStart, status, unsetStatus } from '../support/status';
import { statusOf, verdictOn, type WatchNode } from './verdict';
import { Watch } from './watch';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

function newWatch(RED: NodeAPI, node: Node, properties: Properties, show: () => void): Watch {
  return new Watch({
    RED,
    nodeId: node.id,
    stations: listOf(properties, 'stations'),
    interval: numberOf(properties, 'interval', 60, 1) * SECOND,
    selfTest: numberOf(properties, 'selfTest', 0) * MINUTE,
    onChange: (standing) => node.send([{ payload: verdictOn(RED, standing) }, null]),
    onPulse: (instance) => node.send([null, { payload: true, instance }]),
    onLook: show,
  });
}

function build(RED: NodeAPI, node: WatchNode, config: NodeDef): void {
  const properties: Properties = { ...config };
  const unset = unsetVariables(config);
  if (unset !== undefined) return showFromStart(RED, node, () => unsetStatus(RED, unset));
  let shown = '';
  const current = (standing: readonly ActiveFinding[]): NodeStatus =>
    watch.unknownStations.length > 0 ? status(RED, 'wrongSetting') : statusOf(RED, standing);
  const show = (): void => {
    const next = current(watch.standing);
    if (JSON.stringify(next) === shown) return;
    shown = JSON.stringify(next);
    node.status(next);
  };
  const watch = newWatch(RED, node, properties, show);
  node.watch = watch;
  const end = [
    onFlowsState(RED, 'started', () => {
      shown = '';
      for (const key of watch.unknownStations) node.error(RED._('rvm-watch.errors.station', { key }));
      watch.flowsStarted();
    }),
    onFlowsState(RED, 'stopping', () => watch.flowsStopping()),
  ];
  node.on('close', (removed: boolean, done: () => void) => {
    for (const each of end) each();
    watch.close(removed).then(done, () => done());
  });
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-watch', (node, config: NodeDef) => build(RED, node, config));
};
