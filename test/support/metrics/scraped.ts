import assert from 'node:assert/strict';
import type { NodeRed } from '../node-red/node-red';

/** One time series as Prometheus reads it. */
export interface Sample {
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

/** Where a Node-RED says that its metrics are. */
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
  const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, label = '', text = '']) => [
    label,
    text,
  ]);
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
  labels: Record<string, string> = {},
): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}

/** Ends of the names of the series of a histogram. */
const PARTS = ['_bucket', '_sum', '_count'];

/** The metric that a series is of. */
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
