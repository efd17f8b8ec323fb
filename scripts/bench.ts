/**
 * `npm run bench`: measures how fast the package is, each figure side by side with its reference. Prints a table, writes each
 * row to bench/results.json as soon as it is measured, and then updates the pages that quote the figures. `-- B1 B4` measures
 * only these and writes only with `--write`; `-- --quick` only shows that all measurements work; `-- --pages` only updates the
 * pages. A full run takes about an hour; see bench/README.md.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Row } from '../bench/measurement';
import { MEASUREMENTS } from '../bench/measurements';
import { PAGES, pageWith } from '../bench/pages';
import { tableOf } from '../bench/report';
import { resultsIn, textOf, withRows, type Circumstances } from '../bench/results';
import { fileSystemWarning } from '../lib/inbox/sqlite/database';
import { buildIfStale, ROOT } from './build';

const RESULTS = path.join(ROOT, 'bench', 'results.json');

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { quick: { type: 'boolean' }, write: { type: 'boolean' }, pages: { type: 'boolean' } },
    allowPositionals: true,
  });
  if (values.pages === true) return writePages();
  const unknown = positionals.filter((id) => MEASUREMENTS[id] === undefined);
  if (unknown.length > 0)
    throw new Error(
      `There is no ${unknown.join(', ')}: choose among ${Object.keys(MEASUREMENTS).join(', ')}.`,
    );
  if (values.quick === true && values.write === true)
    throw new Error('What is measured quickly says nothing.');
  buildIfStale();
  const warning = fileSystemWarning(os.tmpdir());
  if (warning !== undefined && 'fileSystem' in warning)
    console.error(
      `${os.tmpdir()} is on ${warning.fileSystem}, where a sync costs nothing: set TMPDIR to a folder on a disk.`,
    );
  const ids = Object.keys(MEASUREMENTS).filter((id) => positionals.length === 0 || positionals.includes(id));
  const writes = values.quick !== true && (positionals.length === 0 || values.write === true);
  const rows: Row[] = [];
  for (const id of ids) rows.push(...(await measured(id, { isQuick: values.quick === true, writes })));
  console.log(tableOf(rows));
  if (writes) writePages();
}

/** Runs one measurement. A failure is reported, and the other measurements still run. */
async function measured(
  id: string,
  { isQuick, writes }: { isQuick: boolean; writes: boolean },
): Promise<Row[]> {
  console.error(`${id} …`);
  const from = performance.now();
  try {
    const rows = (await MEASUREMENTS[id]?.(isQuick ? 'quick' : 'full')) ?? [];
    console.error(`${tableOf(rows)}\n${Math.round((performance.now() - from) / 1000)} s`);
    // After each measurement, so that an interrupted run leaves its results.
    if (writes) write(rows);
    return rows;
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
    return [];
  }
}

function write(rows: readonly Row[]): void {
  const former = resultsIn(fs.readFileSync(RESULTS, 'utf8'));
  const order = Object.keys(MEASUREMENTS);
  fs.writeFileSync(RESULTS, textOf(withRows(former, rows, { on: circumstances(), order })));
}

function circumstances(): Circumstances {
  const nodeRed = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'node_modules', 'node-red', 'package.json'), 'utf8'),
  ) as { version: string };
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    nodeRed: nodeRed.version,
    platform: `${process.platform} ${process.arch}`,
    cores: os.availableParallelism(),
  };
}

function writePages(): void {
  const results = resultsIn(fs.readFileSync(RESULTS, 'utf8'));
  for (const page of PAGES) {
    const file = path.join(ROOT, page);
    fs.writeFileSync(file, pageWith(results, page, fs.readFileSync(file, 'utf8')));
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
