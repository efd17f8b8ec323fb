import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../node-red/node-red';

export interface DocumentedMetric {
  name: string;
  type: string;
  labels: string[];
}

/** The list of all metrics in docs/metrics.md: a name, its type, and its labels. */
export function documentedMetrics(): DocumentedMetric[] {
  const page = fs.readFileSync(path.join(ROOT, 'docs', 'metrics.md'), 'utf8');
  const rows = page.matchAll(/^- `([a-z_]+)` \((counter|gauge|histogram)([;, a-z_`]*)\)/gm);
  return [...rows].map(([, name = '', type = '', labels = '']) => ({
    name,
    type,
    labels: [...labels.matchAll(/`([a-z_]+)`/g)].map(([, label = '']) => label).sort(),
  }));
}
