/**
 * `npm run bench`: how fast the package is, each figure measured side by side with what it is compared to. Prints a table,
 * writes each row to bench/results.json as soon as it is measured, and its figures into the pages that quote them. `-- B1 B4`
 * measures those alone and writes only with `--write`; `-- --quick` only shows that all of it works; `-- --pages` measures
 * nothing and brings the pages up to date. All of it takes about an hour; see bench/README.md.
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
import { fileSystemWarning } from '../lib/inbox/file-system';
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

/** What fails is told, and the others are measured all the same. */
async function measured(
  id: string,
  { isQuick, writes }: { isQuick: boolean; writes: boolean },
): Promise<Row[]> {
  console.error(`${id} …`);
  const from = performance.now();
  try {
    const rows = (await MEASUREMENTS[id]?.(isQuick ? 'quick' : 'full')) ?? [];
    console.error(`${tableOf(rows)}\n${Math.round((performance.now() - from) / 1000)} s`);
    // After each, so that a run that is broken off leaves what it has measured.
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
