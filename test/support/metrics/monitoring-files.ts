import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../node-red/node-red';

export const MONITORING = path.join(ROOT, 'docs', 'monitoring');

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[];
  templating: { list: { query: string | { query: string } }[] };
}

export function dashboardQueries(): string[] {
  const { panels } = dashboard();
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

export function ruleQueries(): string[] {
  const rules = fs.readFileSync(path.join(MONITORING, 'alerts.yml'), 'utf8');
  return [...rules.matchAll(/^ +expr: (.*)$/gm)].map(([, query = '']) => query);
}

/** What the variables of the dashboard ask for. */
function variableQueries(): string[] {
  return dashboard().templating.list.flatMap(({ query }) => (typeof query === 'string' ? [] : [query.query]));
}

/** Every query of rules and dashboard. */
export function queriesOfFiles(): string[] {
  return [...ruleQueries(), ...dashboardQueries(), ...variableQueries()];
}

/** Words of PromQL that are no series. */
const WORDS =
  /^(sum|max|min|count|by|rate|increase|histogram_quantile|vector|time|label_values|and|or|unless|without|on|ignoring)$/;

/** The series that a query names, each with the labels by which it chooses; those of `by` are asked of all. */
export function seriesIn(query: string): { series: string; labels: string[] }[] {
  const grouped = [...query.matchAll(/by \(([a-z_, ]+)\)/g)].flatMap(([, labels = '']) =>
    labels.split(/, */),
  );
  const asked = /^label_values\(.*, (\w+)\)$/.exec(query)?.slice(1) ?? [];
  const bare = query
    .replace(/, \w+\)$/, ')')
    .replaceAll(/by \([a-z_, ]+\)|\[[^\]]*\]/g, '')
    .replaceAll(/"[^"]*"/g, '""');
  const found = [...bare.matchAll(/([a-z_]+)(?:\{([^}]*)\})?/g)].filter(([, name = '']) => !WORDS.test(name));
  assert.ok(found.length > 0, query);
  return found.map(([, series = '', chosen = '']) => ({
    series,
    labels: [...[...chosen.matchAll(/([a-z_]+)[=!]/g)].map(([, label = '']) => label), ...grouped, ...asked],
  }));
}

function dashboard(): Dashboard {
  return JSON.parse(fs.readFileSync(path.join(MONITORING, 'grafana-dashboard.json'), 'utf8')) as Dashboard;
}
