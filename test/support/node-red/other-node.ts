import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './node-red';
import { cannotRun } from '../suite/programs';

interface FetchNode {
  fetchNode(version: string, folder: string): string | undefined;
}

/** Those that this process has fetched: the newest of last week is not that of today. */
const fetched = new Set<string>();

/**
 * A Node binary of another version, such as `22.19.0`, or the newest of `22` or of all (`latest`). The test is skipped where it
 * cannot be had.
 */
export function otherNode(test: Mocha.Context, version: string): string {
  const folder = path.join(ROOT, '.node', version);
  const isNewest = version.split('.').length < 3;
  const isThere = fs.existsSync(folder) && (!isNewest || fetched.has(version));
  const canBeHad = isThere || fetchInto(folder, version, isNewest);
  return (canBeHad && fetchNode(version, folder)) || cannotRun(test, `Node.js ${version} cannot be fetched`);
}

const MOST_TRIES = 3;

/** Test files that run at the same time must not install into one folder. @returns whether it could be had */
function fetchInto(folder: string, version: string, isNewest: boolean): boolean {
  const own = `${folder}-${process.pid}`;
  let binary: string | undefined;
  // A registry may stumble.
  for (let tries = 0; tries < MOST_TRIES && binary === undefined; tries += 1)
    binary = fetchNode(version, own);
  if (binary !== undefined) {
    if (isNewest) fs.rmSync(folder, { recursive: true, force: true });
    try {
      fs.renameSync(own, folder);
    } catch {
      // Another was first.
    }
    fetched.add(version);
  }
  fs.rmSync(own, { recursive: true, force: true });
  return binary !== undefined;
}

function fetchNode(version: string, folder: string): string | undefined {
  const tools = require('../../../scripts/fetch-node.js') as FetchNode;
  return tools.fetchNode(version, folder);
}
