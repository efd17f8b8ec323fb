import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fullMetrics, labelsOf, metricOf, readScrape, type Scrape } from '../support/metrics/metrics';
import { MONITORING, queriesOfFiles, seriesIn } from '../support/metrics/prometheus';
import { needs, programPath } from '../support/suite/programs';

/** What Prometheus itself adds. */
const OF_PROMETHEUS = { series: ['up'], labels: ['job', 'instance', 'le'] };

/** Series of an hour, in steps of 15 s: while all is well, and where everything is wrong at once. */
const SERIES = `
  up{job="remote-monitoring"} | 1x240 | 0x240
  rvm_inbox_durable{engine="sqlite"} | 1x240 | 0x240
  rvm_spill_messages{} | 0x240 | 4x240
  rvm_webhook_messages_total{station="north", answer="accepted"} | 0+1x240 | -
  rvm_webhook_messages_total{station="north", answer="unauthentic"} | 3x240 | 0x220 1x20
  rvm_webhook_messages_total{station="other", answer="cut"} | 2x240 | 0x220 1x20
  rvm_inbox_oldest_waiting_seconds{engine="sqlite"} | 0 1 0 2x237 | 0+15x240
  rvm_problems_total{kind="conflict"} | 1x240 | 0x220 1x20
  rvm_problems_total{kind="unauthentic"} | 0+1x240 | -
  rvm_store_commit_seconds_bucket{engine="sqlite", le="0.01"} | 0+10x240 | -
  rvm_store_commit_seconds_bucket{engine="sqlite", le="+Inf"} | 0+10x240 | 0+10x240
  rvm_store_commit_seconds_bucket{engine="sqlite", le="1"} | - | 0x240
  rvm_store_commit_seconds_bucket{engine="sqlite", le="2.5"} | - | 0+10x240
  rvm_delivery_seconds_bucket{station="north", le="0.1"} | 0+10x240 | -
  rvm_delivery_seconds_bucket{station="north", le="+Inf"} | 0+10x240 | 0+10x240
  rvm_delivery_seconds_bucket{station="north", le="10"} | - | 0x240
  rvm_delivery_seconds_bucket{station="north", le="60"} | - | 0+10x240
  rvm_service_connected{station="north"} | 1x240 | 0x240
  rvm_service_errors_total{station="north", code="CANCELLED"} | 0+1x240 | -
  rvm_service_errors_total{station="north", code="TIMEOUT"} | - | 0+1x240
  rvm_video_jobs_total{outcome="done"} | 0+1x240 | -
  rvm_video_jobs_total{outcome="CANCELLED"} | 0+1x240 | -
  rvm_video_jobs_total{outcome="VIDEO_NOT_YET"} | - | 0+1x240
  rvm_watch_findings{what="silent", severity="fault"} | 0x240 | 1x240
  rvm_watch_findings{what="clock", severity="warning"} | 1x240 | -
  rvm_event_loop_active_seconds_total{} | 0+3x240 | 0+14.5x240
  rvm_inbox_dead_letters{engine="sqlite", station="north"} | - | 2x240
`;

/** The alerts at the end of that hour: severity, labels, and the sentence. */
const ALERTS = `
  RvmDown critical {job="remote-monitoring"} Node-RED at a tells no metrics
  RvmNotDurable critical {engine="sqlite"} An inbox at a cannot store
  RvmSpilling critical {} 4 messages at a are kept beside the inbox
  RvmCutAlarms critical {} Alarms at a were left without an answer
  RvmNotProven warning {station="north"} Messages for north at a were not proven
  RvmBacklog critical {engine="sqlite"} An alarm at a has waited 1h 0m 0s for the flow
  RvmDeadLetters warning {engine="sqlite", station="north"} 2 dead letters of north at a
  RvmProblems warning {kind="conflict"} webhook in at a tells of conflict
  RvmSlowCommits warning {engine="sqlite"} Commits of the inbox at a take over a second
  RvmSlowDelivery warning {} Alarms at a reach the flow after more than ten seconds
  RvmServiceUnreachable critical {station="north"} The session of north with the service is not good, at a
  RvmServiceErrors warning {station="north", code="TIMEOUT"} TIMEOUT of the service for north at a
  RvmVideoFailing warning {outcome="VIDEO_NOT_YET"} Video at a fails with VIDEO_NOT_YET
  RvmFault critical {what="silent"} watch at a has found silent
  RvmEventLoopBusy warning {} Node-RED at a has hardly a free moment
`;

const linesOf = (text: string): string[] => text.trim().split('\n');
const alertsIn = (rules: string): string[] =>
  [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);

/** What promtool is given, of one instance. */
function seriesOf(column: 'calm' | 'wrong'): { series: string; values: string }[] {
  return linesOf(SERIES).flatMap((line) => {
    const [, name = '', labels = '', calm = '', wrong = ''] =
      /^ *(\w+)\{(.*)\} \| (.*) \| (.*)$/.exec(line) ?? assert.fail(line);
    const values = { calm, wrong }[column];
    const series = `${name}{${['instance="a"', labels].filter(Boolean).join()}}`;
    return values === '-' ? [] : [{ series, values }];
  });
}

function expectedAlert(line: string, rules: string): Record<string, unknown> {
  const [, alertname = '', severity = '', labels = '', summary = ''] =
    /^ *(\w+) (\w+) \{(.*)\} (.*)$/.exec(line) ?? assert.fail(line);
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, ...pair]) => pair);
  const [, description] = new RegExp(`alert: ${alertname}\n[^]*?description: (.*)`).exec(rules) ?? [];
  const exp_labels = { severity, instance: 'a', ...Object.fromEntries(pairs) };
  const exp_annotations = { summary, description };
  return { alertname, eval_time: '60m', exp_alerts: [{ exp_labels, exp_annotations }] };
}

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
        const unknown = labels.filter((label) => !known.includes(label));
        assert.deepEqual(unknown, [], query);
      }
    }
  });

  it('show every metric somewhere', () => {
    const asked = queriesOfFiles().flatMap(seriesIn);
    const shown = new Set(asked.map(({ series }) => metricOf(scrape, series)));
    const unshown = [...scrape.types.keys()].filter((name) => !shown.has(name));
    assert.deepEqual(unshown, []);
  });

  it('are led to by docs/metrics.md, which tells each alert', () => {
    const page = fs.readFileSync(path.join(MONITORING, '..', 'metrics.md'), 'utf8');
    for (const file of fs.readdirSync(MONITORING)) assert.ok(page.includes(`](monitoring/${file})`), file);
    const rules = fs.readFileSync(path.join(MONITORING, 'alerts.yml'), 'utf8');
    const told = [...page.matchAll(/^- `(Rvm\w+)` \(/gm)].map(([, name = '']) => name);
    assert.deepEqual(told, alertsIn(rules));
  });

  it('are taken by promtool: configuration and rules', function () {
    needs(this, 'promtool');
    assert.match(promtool('check', 'config', 'prometheus.yml'), /SUCCESS/);
    assert.match(promtool('check', 'rules', 'alerts.yml'), /SUCCESS/);
  });

  it('give an alert for each thing that is wrong, and none while all is well', function () {
    needs(this, 'promtool');
    const file = path.join(MONITORING, 'alerts.yml');
    const rules = fs.readFileSync(file, 'utf8');
    const alerts = linesOf(ALERTS).map((line) => expectedAlert(line, rules));
    const names = alerts.map(({ alertname }) => alertname);
    assert.deepEqual(names, alertsIn(rules));
    const none = { expr: 'count(ALERTS) or vector(0)', exp_samples: [{ labels: '{}', value: 0 }] };
    const noAlert = ['30m', '60m'].map((eval_time) => ({ ...none, eval_time }));
    const interval = '15s';
    const tests = [
      { interval, input_series: seriesOf('calm'), promql_expr_test: noAlert },
      { interval, input_series: seriesOf('wrong'), alert_rule_test: alerts },
    ];
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-alerts-'));
    const made = path.join(folder, 'tests.yml');
    fs.writeFileSync(made, JSON.stringify({ rule_files: [file], evaluation_interval: interval, tests }));
    assert.match(promtool('test', 'rules', made), /SUCCESS/);
    fs.rmSync(folder, { recursive: true });
  });
});
