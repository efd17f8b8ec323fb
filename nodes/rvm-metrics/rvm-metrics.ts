import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { setMeter } from '../../lib/meter';
import { readMetricsAddress, type MetricsAddress } from '../../lib/metrics/metrics-server';
import { PROBLEM_KINDS } from '../../lib/webhook/problem';
import { allStations } from '../rvm-central-station/station';
import { onFlowsState } from '../support/flows';
import { nodeIsNewEnough } from '../support/register';
import { CachedFigures, snapshotOf } from './snapshot';

type MetricsModule = typeof import('../../lib/metrics/metrics');
type ServerModule = typeof import('../../lib/metrics/metrics-server');

/** True once this process serves metrics: an application that embeds Node-RED may start it again. */
let isServed = false;

/** Serves metrics according to `rvmMetrics` of settings.js; without it nothing is loaded or counted. */
export = (RED: NodeAPI): void => {
  if (!nodeIsNewEnough() || isServed) return;
  try {
    const address = readMetricsAddress(RED.settings.get('rvmMetrics'));
    if (address !== undefined) serve(RED, address);
  } catch (error) {
    // An invalid setting or a missing module must not stop Node-RED from starting.
    RED.log.error(error instanceof RvmError ? error.message : RED._('rvm-metrics.log.notLoaded'));
  }
};

function serve(RED: NodeAPI, address: MetricsAddress): void {
  // Loaded lazily: most installations use no metrics.
  const { Metrics } = require('../../lib/metrics/metrics') as MetricsModule;
  const { MetricsServer } = require('../../lib/metrics/metrics-server') as ServerModule;
  const figures = new CachedFigures();
  const metrics = new Metrics(() => snapshotOf(RED, figures));
  setMeter(metrics);
  isServed = true;
  const deployed = (): void =>
    metrics.deployed(
      allStations(RED).map(({ key }) => key),
      PROBLEM_KINDS.filter((kind) => kind !== 'self-test'),
    );
  onFlowsState(RED, 'started', deployed);
  new MetricsServer({
    address,
    metrics,
    onListening: (url) => RED.log.info(RED._('rvm-metrics.log.listening', { url })),
    onFault: (fault) => RED.log.error(fault.message),
  }).open();
}
