import type { NodeAPI } from 'node-red';
import { onFlowsState } from '../support/flows';
import { type NodeConfig, registerNode } from '../support/register';
import { listOf, numberOf, unsetVariables } from '../support/settings';
import { showFromStart, unsetStatus } from '../support/status';
import type { WatchNode } from './verdict';
import { Watch } from './watch';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

function build(RED: NodeAPI, node: WatchNode, config: NodeConfig): void {
  const unset = unsetVariables(config);
  if (unset !== undefined) return showFromStart(RED, node, () => unsetStatus(RED, unset));
  const watch = new Watch(RED, node, {
    stations: listOf(config, 'stations'),
    interval: numberOf(config, 'interval', 60, 1) * SECOND,
    selfTest: numberOf(config, 'selfTest', 0) * MINUTE,
  });
  node.watch = watch;
  const end = [
    onFlowsState(RED, 'started', () => watch.flowsStarted()),
    onFlowsState(RED, 'stopping', () => watch.flowsStopping()),
  ];
  node.on('close', (removed: boolean, done: () => void) => {
    for (const each of end) each();
    watch.close(removed).then(done, () => done());
  });
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-watch', build);
