import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { register } from 'prom-client';
import { Metrics, type Snapshot } from '../../lib/metrics/metrics';
import { documentedMetrics, fullMetrics, labelsOf, readScrape, valueOf } from '../support/metrics/metrics';
import type { Scrape } from '../support/metrics/metrics';
import { ROOT } from '../support/node-red/node-red';

const NOTHING: Snapshot = { stations: [], inboxes: [], findings: [] };

const scrapeOf = async (metrics: Metrics): Promise<Scrape> => readScrape(await metrics.text());
const noMetrics = (): Metrics => new Metrics(async () => NOTHING);

describe('metrics', () => {
  it('are those of docs/metrics.md, each by its type and labels, and no other', async () => {
    const scrape = await scrapeOf(fullMetrics());
    const told = [...scrape.types].map(([name, type]) => ({ name, type, labels: labelsOf(scrape, name) }));
    const byName = (one: { name: string }, other: { name: string }): number =>
      one.name.localeCompare(other.name);
    assert.deepEqual(told.sort(byName), documentedMetrics().sort(byName));
  });

  it('have names as Prometheus wants them: base units, and _total of what is counted', async () => {
    const { types } = await scrapeOf(fullMetrics());
    for (const [name, type] of types) {
      assert.match(name, /^(rvm|process)_[a-z_]+$/);
      assert.equal(name.endsWith('_total'), type === 'counter', name);
      assert.equal(/_(ms|milliseconds|minutes|kilobytes)(_|$)/.test(name), false, name);
      if (type === 'histogram') assert.match(name, /_seconds$/);
    }
  });

  it('leave the registry of the library, which is that of everybody, empty', async () => {
    await fullMetrics().text();
    assert.equal(await register.metrics(), '\n');
  });

  it('sum up the inboxes of an engine, and show the one that cannot store', async () => {
    const scrape = await scrapeOf(fullMetrics());
    const sqlite = { engine: 'sqlite' };
    for (const [name, labels, value] of [
      ['rvm_inbox_waiting_events', sqlite, 4],
      ['rvm_inbox_durable', sqlite, 0],
      ['rvm_inbox_durable', { engine: 'postgres' }, 1],
      ['rvm_inbox_oldest_waiting_seconds', sqlite, 7],
      ['rvm_inbox_dead_letters', { ...sqlite, station: 'north' }, 2],
      ['rvm_spill_messages', {}, 4],
    ] as const)
      assert.equal(valueOf(scrape, name, labels), value, name);
  });

  it('show what there is now, and nothing of what there was', async () => {
    let snapshot: Snapshot = {
      ...NOTHING,
      stations: [{ key: 'north', isConnected: true, isCircuitOpen: false }],
      inboxes: [{ engine: 'sqlite', isDurable: true, waiting: 1, spilled: 0, dead: { north: 1 } }],
      raisedGroups: 1,
      findings: [{ what: 'silent', severity: 'fault', count: 1 }],
    };
    const metrics = new Metrics(async () => snapshot);
    const shown = ['rvm_service_connected', 'rvm_inbox_waiting_events', 'rvm_inbox_dead_letters'];
    const names = [...shown, 'rvm_alarm_groups_raised', 'rvm_watch_findings'];
    const before = await scrapeOf(metrics);
    assert.ok(names.every((name) => valueOf(before, name) !== undefined));
    snapshot = NOTHING;
    const after = await scrapeOf(metrics);
    assert.ok(names.every((name) => valueOf(after, name) === undefined));
  });

  it('say nothing of the session of a station that was asked for nothing', async () => {
    const scrape = await scrapeOf(fullMetrics());
    assert.equal(valueOf(scrape, 'rvm_service_connected', { station: 'silent' }), undefined);
    assert.equal(valueOf(scrape, 'rvm_service_connected', { station: 'south' }), 0);
    assert.equal(valueOf(scrape, 'rvm_service_circuit_open', { station: 'south' }), 1);
  });

  it('ask for what there is once, however many scrape at a time', async () => {
    let asked = 0;
    const metrics = new Metrics(async () => {
      asked += 1;
      return NOTHING;
    });
    await Promise.all([metrics.text(), metrics.text(), metrics.text()]);
    assert.equal(asked, 1);
    await metrics.text();
    assert.equal(asked, 2);
  });

  it('time no delivery below zero, where the wall clock was set back', async () => {
    const metrics = noMetrics();
    metrics.delivered('north', undefined, -3600);
    assert.equal(valueOf(await scrapeOf(metrics), 'rvm_delivery_seconds_sum'), 0);
  });
});

describe('labels of stations', () => {
  const answered = ({ samples }: Scrape): Set<string> =>
    new Set(samples.flatMap(({ labels: { station } }) => (station === undefined ? [] : [station])));
  const acceptedOf = (scrape: Scrape, station: string): number | undefined =>
    valueOf(scrape, 'rvm_webhook_messages_total', { station, answer: 'accepted' });

  it('are bounded: of five thousand stations fifty have one of their own, and all others one together', async () => {
    const keys = Array.from({ length: 5000 }, (_, index) => `station-${index}`);
    const metrics = new Metrics(async () => ({
      ...NOTHING,
      stations: keys.map((key) => ({ key, isConnected: true, isCircuitOpen: key === 'station-4999' })),
    }));
    metrics.deployed(keys, []);
    for (const key of keys) metrics.answered('accepted', key, 0.001);
    const scrape = await scrapeOf(metrics);
    assert.equal(answered(scrape).size, 51);
    assert.deepEqual([acceptedOf(scrape, 'other'), acceptedOf(scrape, 'station-49')], [4950, 1]);
    assert.equal(valueOf(scrape, 'rvm_service_circuit_open', { station: 'other' }), 1);
    assert.ok(scrape.text.length < 1024 * 1024);
  });

  it('are never a text that is not the key of a deployed station', async () => {
    const metrics = noMetrics();
    metrics.deployed(['north', 'Ümlaut"}\n', 'x'.repeat(33)], []);
    for (const key of ['gone', 'Ümlaut"}\n', 'x'.repeat(33)]) {
      metrics.answered('accepted', key);
      metrics.delivered(key, undefined, 1);
      metrics.failed(key, 'TLS');
    }
    assert.deepEqual(answered(await scrapeOf(metrics)), new Set(['north', 'other']));
  });

  it('stay with a station that is deployed once more, and with one that is not', async () => {
    const metrics = noMetrics();
    metrics.deployed(['north'], []);
    metrics.deployed(['south'], []);
    metrics.answered('accepted', 'north');
    metrics.answered('accepted', 'south');
    const scrape = await scrapeOf(metrics);
    for (const station of ['north', 'south']) assert.equal(acceptedOf(scrape, station), 1);
  });
});

describe('docs/metrics.md', () => {
  it('names every answer that is counted, and no other', () => {
    const page = fs.readFileSync(path.join(ROOT, 'docs', 'metrics.md'), 'utf8');
    const [, list = ''] = /### Answers\n(.*?)\n### /s.exec(page) ?? [];
    const told = [...list.matchAll(/^- `([a-z-]+)` \(/gm)].map(([, name = '']) => name);
    const source = fs.readFileSync(path.join(ROOT, 'lib', 'meter.ts'), 'utf8');
    const [, union = ''] = /type MeteredAnswer =(.*?);/s.exec(source) ?? [];
    const counted = [...union.matchAll(/\| '([a-z-]+)'/g)].map(([, name = '']) => name);
    assert.deepEqual(told.sort(), counted.sort());
  });
});
