import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fullMetrics, labelsOf, metricOf, readScrape, type Scrape } from '../support/metrics/metrics';
import { MONITORING, queriesOfFiles, seriesIn } from '../support/metrics/prometheus';
import { needs, programPath } from '../support/suite/programs';

/** What Prometheus itself adds. */
const OF_PROMETHEUS = { series: ['up'], labels: ['job', 'instance', 'le'] };

function promtool(...args: string[]): string {
  return execFileSync(programPath('promtool') ?? '', args, { cwd: MONITORING, encoding: 'utf8' });
}

describe('the files of docs/monitoring', () => {
  let scrape: Scrape;
  before(async () => {
    scrape = readScrape(await fullMetrics().text());
  });

  it('ask in each query for series and labels that there are', () => {
    const names = new Set(scrape.samples.map(({ name }) => name));
    const queries = queriesOfFiles();
    assert.ok(queries.length > 40);
    for (const query of queries) {
      for (const { series, labels } of seriesIn(query)) {
        if (OF_PROMETHEUS.series.includes(series)) continue;
        assert.ok(names.has(series), `${series} in ${query}`);
        const known = [...labelsOf(scrape, metricOf(scrape, series)), ...OF_PROMETHEUS.labels];
        assert.deepEqual(
          labels.filter((label) => !known.includes(label)),
          [],
          query,
        );
      }
    }
  });

  it('show every metric somewhere', () => {
    const asked = new Set(
      queriesOfFiles().flatMap((query) => seriesIn(query).map(({ series }) => metricOf(scrape, series))),
    );
    assert.deepEqual(
      [...scrape.types.keys()].filter((name) => !asked.has(name)),
      [],
    );
  });

  it('are led to by docs/metrics.md, which tells each alert', () => {
    const page = fs.readFileSync(path.join(MONITORING, '..', 'metrics.md'), 'utf8');
    for (const file of fs.readdirSync(MONITORING)) assert.ok(page.includes(`](monitoring/${file})`), file);
    const rules = fs.readFileSync(path.join(MONITORING, 'alerts.yml'), 'utf8');
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    const told = [...page.matchAll(/^- `(Rvm\w+)` \(/gm)].map(([, name = '']) => name);
    assert.deepEqual(told, alerts);
  });

  it('are taken by promtool: configuration and rules', function () {
    needs(this, 'promtool');
    assert.match(promtool('check', 'config', 'prometheus.yml'), /SUCCESS/);
    assert.match(promtool('check', 'rules', 'alerts.yml'), /SUCCESS/);
  });

  it('give an alert for each thing that is wrong, and none while all is well', function () {
    needs(this, 'promtool');
    const tests = path.join(__dirname, 'alerts.yml');
    assert.match(promtool('test', 'rules', tests), /SUCCESS/);
    const tested = fs.readFileSync(tests, 'utf8');
    const rules = fs.readFileSync(path.join(MONITORING, 'alerts.yml'), 'utf8');
    for (const [, alert = ''] of rules.matchAll(/- alert: (\w+)/g))
      assert.ok(tested.includes(`alertname: ${alert}\n`), `${alert} is not tested`);
  });
});
