import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './node-red';
import { cannotRun } from '../suite/programs';

interface FetchNode {
  fetchNode(version: string, folder: string, isGood?: () => boolean): string | undefined;
}

/**
 * A Node binary of another version, such as `22.19.0`, or the newest of `22` or of all (`latest`). The test is skipped where it
 * cannot be had.
 */
export function otherNode(test: Mocha.Context, version: string): string {
  const folder = path.join(ROOT, '.node', version);
  const isNew = !fs.existsSync(folder);
  if (isNew) fetchInto(folder, version);
  // The newest of last week is not that of today.
  const isToday = isNew || version.split('.').length === 3;
  return fetchNode(version, folder, () => isToday) ?? cannotRun(test, `Node.js ${version} cannot be fetched`);
}

const MOST_TRIES = 3;

/** Test files that run at the same time must not install into one folder. */
function fetchInto(folder: string, version: string): void {
  const own = `${folder}-${process.pid}`;
  // A registry may stumble.
  for (let tries = 0; tries < MOST_TRIES && fetchNode(version, own) === undefined; tries += 1);
  try {
    fs.renameSync(own, folder);
  } catch {
    // Another was first.
    fs.rmSync(own, { recursive: true, force: true });
  }
}

function fetchNode(version: string, folder: string, isGood?: () => boolean): string | undefined {
  const tools = require('../../../scripts/fetch-node.js') as FetchNode;
  return tools.fetchNode(version, folder, isGood);
}
