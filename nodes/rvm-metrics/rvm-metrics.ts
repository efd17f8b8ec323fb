import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { setMeter } from '../../lib/meter';
import { readMetricsPlace, type MetricsPlace } from '../../lib/metrics/metrics-server';
import { PROBLEM_KINDS } from '../../lib/webhook/problem';
import { allStations } from '../rvm-central-station/station';
import { onFlowsState } from '../support/flows';
import { nodeIsNewEnough } from '../support/register';
import { AskedFigures, snapshotOf } from './snapshot';

type MetricsModule = typeof import('../../lib/metrics/metrics');
type ServerModule = typeof import('../../lib/metrics/metrics-server');

/** True once this process serves them: an application that embeds Node-RED may start it again. */
let isServed = false;

/** Serves metrics as `rvmMetrics` of settings.js says; without it nothing is loaded, and nothing is counted. */
export = (RED: NodeAPI): void => {
  if (!nodeIsNewEnough() || isServed) return;
  try {
    const place = readMetricsPlace(RED.settings.get('rvmMetrics'));
    if (place !== undefined) serve(RED, place);
  } catch (error) {
    // What cannot be read, or installed, is no reason for Node-RED not to start.
    RED.log.error(error instanceof RvmError ? error.message : RED._('rvm-metrics.log.notLoaded'));
  }
};

function serve(RED: NodeAPI, place: MetricsPlace): void {
  // Loaded here and not above: most installations ask for no metrics.
  const { Metrics } = require('../../lib/metrics/metrics') as MetricsModule;
  const { MetricsServer } = require('../../lib/metrics/metrics-server') as ServerModule;
  const figures = new AskedFigures();
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
    place,
    metrics,
    onListening: (url) => RED.log.info(RED._('rvm-metrics.log.listening', { url })),
    onFault: (fault) => RED.log.error(fault.message),
  }).open();
}
