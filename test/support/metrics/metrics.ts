import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type Meter, setMeter } from '../../../lib/meter';
import { Metrics, type Snapshot } from '../../../lib/metrics/metrics';
import { type NodeRed, ROOT } from '../node-red/node-red';

/** The list of all metrics in docs/metrics.md: a name, its type, and its labels. */
export function documentedMetrics(): { name: string; type: string; labels: string[] }[] {
  const page = fs.readFileSync(path.join(ROOT, 'docs', 'metrics.md'), 'utf8');
  const rows = page.matchAll(/^- `([a-z_]+)` \((counter|gauge|histogram)([;, a-z_`]*)\)/gm);
  return [...rows].map(([, name = '', type = '', labels = '']) => ({
    name,
    type,
    labels: [...labels.matchAll(/`([a-z_]+)`/g)].map(([, label = '']) => label).sort(),
  }));
}

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

type Told = { [Name in keyof Meter]: [Name, ...Parameters<Meter[Name]>] }[keyof Meter];

/** Hears what happens in this process, until it is ended. Its durations are left out. */
export class RecordingMeter {
  readonly #told: Told[] = [];

  constructor() {
    // Whatever is told is kept.
    const hear =
      (_meter: Meter, name: keyof Meter) =>
      (...told: unknown[]) =>
        void this.#told.push([name, ...told] as unknown as Told);
    setMeter(new Proxy({} as Meter, { get: hear }));
  }

  /** What was told of one kind, oldest first. */
  told<Name extends keyof Meter>(name: Name): Parameters<Meter[Name]>[] {
    return this.#told.flatMap(([heard, ...told]) =>
      heard === name ? [told as unknown as Parameters<Meter[Name]>] : [],
    );
  }

  end(): void {
    setMeter(undefined);
  }
}

/** One time series as Prometheus reads it. */
interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** What a scrape gives: its samples, and by metric its type. */
export interface Scrape {
  text: string;
  samples: readonly Sample[];
  types: ReadonlyMap<string, string>;
}

/** The settings of a Node-RED that serves metrics at a port which the system chooses. */
export const METRICS = 'rvmMetrics: { port: 0 },';

export async function metricsUrl(nodeRed: NodeRed): Promise<string> {
  const line = /metrics are served at (http\S+)/;
  await nodeRed.logged(line);
  return line.exec(nodeRed.log)?.[1] ?? assert.fail();
}

export async function scrape(url: string): Promise<Scrape> {
  const response = await fetch(url);
  assert.equal(response.status, 200);
  return readScrape(await response.text());
}

export function readScrape(text: string): Scrape {
  const lines = text.split('\n').filter((line) => line !== '');
  const types = lines.flatMap((line) => {
    const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    return name === '' ? [] : [[name, type] as const];
  });
  return {
    text,
    types: new Map(types),
    samples: lines.filter((line) => !line.startsWith('#')).map(sampleOf),
  };
}

function sampleOf(line: string): Sample {
  const [, name = '', labels = '', value = ''] =
    /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? assert.fail(line);
  const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, ...pair]) => pair);
  return {
    name,
    labels: Object.fromEntries(pairs) as Sample['labels'],
    value: value === '+Inf' ? Infinity : Number(value),
  };
}

/** The sum of the series of a name that have these labels; undefined where there is none. */
export function valueOf(
  { samples }: Scrape,
  name: string,
  labels: Sample['labels'] = {},
): number | undefined {
  const has = (sample: Sample): boolean =>
    Object.entries(labels).every(([label, text]) => sample.labels[label] === text);
  const found = samples.filter((sample) => sample.name === name && has(sample));
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}

/** Ends of the names of the series of a histogram. */
const PARTS = ['_bucket', '_sum', '_count'];

export function metricOf({ types }: Pick<Scrape, 'types'>, series: string): string {
  const part = PARTS.find((end) => series.endsWith(end)) ?? '';
  const metric = series.slice(0, series.length - part.length);
  return types.get(metric) === 'histogram' ? metric : series;
}

/** The labels that the series of a metric have, those of buckets apart. */
export function labelsOf(scrape: Scrape, metric: string): string[] {
  const series = scrape.samples.filter(({ name }) => metricOf(scrape, name) === metric);
  const labels = new Set(series.flatMap(({ labels }) => Object.keys(labels)));
  labels.delete('le');
  return [...labels].sort();
}
