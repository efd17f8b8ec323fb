import { Metrics, type Snapshot } from '../../../lib/metrics/metrics';

/** A Node-RED in which there is something of everything. */
const SNAPSHOT: Snapshot = {
  stations: [
    { key: 'north', isConnected: true, isCircuitOpen: false },
    { key: 'south', isConnected: false, isCircuitOpen: true },
    { key: 'silent', isConnected: undefined, isCircuitOpen: false },
  ],
  inboxes: [
    { engine: 'sqlite', isDurable: true, waiting: 3, spilled: 0, oldestWaiting: 7, dead: { north: 2 } },
    { engine: 'sqlite', isDurable: false, waiting: 1, spilled: 4 },
    { engine: 'postgres', isDurable: true, waiting: 0, spilled: 0, oldestWaiting: 0, dead: {} },
  ],
  raisedGroups: 2,
  findings: [
    { what: 'silent', severity: 'fault', count: 1 },
    { what: 'clock', severity: 'warning', count: 0 },
  ],
};

/** Metrics of which none is without a series. */
export function fullMetrics(): Metrics {
  const metrics = new Metrics(async () => SNAPSHOT);
  metrics.deployed(['north', 'south', 'silent'], ['unauthentic', 'dead-letter']);
  metrics.answered('accepted', 'north', 0.004);
  metrics.answered('unauthentic');
  metrics.delivered('north', undefined, 0.2);
  metrics.delivered('north', 'lease', 60);
  metrics.problem('dead-letter', 1);
  metrics.requested('south', 200, 0.1);
  metrics.requested('south', undefined, 5);
  metrics.failed('south', 'TIMEOUT');
  metrics.videoBegan();
  metrics.videoBegan();
  metrics.videoEnded(undefined);
  metrics.firstFrame(1.2);
  metrics.committed('sqlite', 0.003);
  metrics.spilled();
  return metrics;
}
