import assert from 'node:assert/strict';
import { dashboardQueries, ruleQueries, seriesIn, Prometheus } from '../support/metrics/prometheus';
import { METRICS, metricsUrl } from '../support/metrics/metrics';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';

/** What there is nothing of in this Node-RED, which makes no video, keeps no level and has no trouble. */
const NOTHING_OF =
  /^rvm_(video_(jobs_total|first_frame)|service_(requests|request_seconds|errors)|alarm_groups|watch_findings|inbox_dead)/;

/** A query of the dashboard as Grafana puts it. */
function asGrafana(query: string): string {
  return query
    .replaceAll('$__rate_interval', '1m')
    .replaceAll('$job', 'remote-monitoring')
    .replaceAll(/\$(instance|station)/g, '.*');
}

describe('a real Prometheus that scrapes a real Node-RED', () => {
  let nodeRed: NodeRed;
  let prometheus: Prometheus;

  before(async function () {
    needs(this, 'prometheus');
    nodeRed = await NodeRed.start({ settings: METRICS });
    // With an address of the service that nothing answers at, which is asked for a sign of life.
    await nodeRed.deploy(webhookFlow({ cloud: { signOfLife: 1 } }));
    prometheus = await Prometheus.start(new URL(await metricsUrl(nodeRed)).host);
    assert.equal(await answerTo(`${nodeRed.url}${PATH}`, alarmMessage(), PHRASE), 200);
  });
  after(async () => {
    await prometheus?.stop();
    await nodeRed?.stopAndRemove();
  });

  it('has the alarm, by its station', async () => {
    const isThere = async (): Promise<boolean> => {
      const [series] = await prometheus.query('rvm_webhook_messages_total{answer="accepted"}');
      return series?.metric['station'] === 'north' && series.value[1] === '1';
    };
    await eventually(isThere, 'the alarm', 100);
  });

  it('answers each query of the dashboard, with something where there is something', async () => {
    const mayBeEmpty = (query: string): boolean =>
      query.endsWith('> 0') || seriesIn(query).some(({ series }) => NOTHING_OF.test(series));
    for (const query of dashboardQueries()) {
      const ask = async (): Promise<boolean> => (await prometheus.query(asGrafana(query))).length > 0;
      if (mayBeEmpty(query)) await ask();
      else await eventually(ask, `something of ${query}`, 200);
    }
  });

  it('evaluates each rule, and tells that the service is out of reach', async () => {
    const areAllWell = async (): Promise<boolean> => {
      const rules = await prometheus.rules();
      return rules.length === ruleQueries().length && rules.every(({ health }) => health === 'ok');
    };
    await eventually(areAllWell, 'all rules', 100);
    const alert = 'ALERTS{alertname="RvmServiceUnreachable", station="north"}';
    await eventually(async () => (await prometheus.query(alert)).length > 0, 'the alert', 100);
  });
});
