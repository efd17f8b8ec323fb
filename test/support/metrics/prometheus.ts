import assert from 'node:assert/strict';
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { endProcess } from '../network/servers';
import { freePort, ROOT } from '../node-red/node-red';
import { programPath } from '../suite/programs';
import { temporaryFolder } from '../suite/temporary-folder';
import { eventually } from '../time/patience';

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

interface Series {
  metric: Record<string, string>;
  value: [at: number, value: string];
}

interface Rule {
  name: string;
  health: string;
  lastError?: string;
}

/** The real Prometheus with the configuration of docs/monitoring, which scrapes one Node-RED each second. */
export class Prometheus {
  #log = '';

  private constructor(
    private readonly port: number,
    private readonly child: ChildProcess,
  ) {
    child.stderr?.on('data', (piece: Buffer) => (this.#log += piece.toString()));
  }

  /** @param target host and port of the metrics */
  static async start(target: string): Promise<Prometheus> {
    const folder = temporaryFolder('prometheus');
    const configuration = fs
      .readFileSync(path.join(MONITORING, 'prometheus.yml'), 'utf8')
      .replaceAll('15s', '1s')
      .replace(/(- targets:\n)(?: +- \S+\n)+/, `$1          - ${target}\n`);
    assert.ok(configuration.includes(target));
    fs.writeFileSync(path.join(folder, 'prometheus.yml'), configuration);
    fs.copyFileSync(path.join(MONITORING, 'alerts.yml'), path.join(folder, 'alerts.yml'));
    const port = await freePort();
    const args = [
      `--config.file=${path.join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    const stdio: StdioOptions = ['ignore', 'ignore', 'pipe'];
    const child = spawn(programPath('prometheus') ?? '', args, { stdio });
    const prometheus = new Prometheus(port, child);
    await eventually(() => prometheus.#isReady(), 'Prometheus', 50);
    return prometheus;
  }

  async query(query: string): Promise<Series[]> {
    const answer = await fetch(`${this.#api}/query?${new URLSearchParams({ query }).toString()}`);
    type Answer = { status: string; error?: string; data?: { result: Series[] } };
    const { status, data, error } = (await answer.json()) as Answer;
    assert.equal(status, 'success', `${query}: ${error}`);
    return data?.result ?? [];
  }

  async rules(): Promise<Rule[]> {
    const answer = await fetch(`${this.#api}/rules`);
    const { data } = (await answer.json()) as { data: { groups: { rules: Rule[] }[] } };
    return data.groups.flatMap(({ rules }) => rules);
  }

  stop(): Promise<void> {
    return endProcess(this.child);
  }

  get #api(): string {
    return `http://127.0.0.1:${this.port}/api/v1`;
  }

  async #isReady(): Promise<boolean> {
    assert.equal(this.child.exitCode, null, this.#log);
    return fetch(`http://127.0.0.1:${this.port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}
