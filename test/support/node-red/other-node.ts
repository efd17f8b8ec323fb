import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './node-red';
import { cannotRun } from '../suite/programs';

interface FetchNode {
  fetchNode(version: string, folder: string): string | undefined;
}

/** A Node binary of another version. The test is skipped where it cannot be had. */
export function otherNode(test: Mocha.Context, version: string): string {
  const folder = path.join(ROOT, '.node', version);
  if (!fs.existsSync(folder)) fetchInto(folder, version);
  return fetchNode(version, folder) ?? cannotRun(test, `Node.js ${version} cannot be fetched`);
}

/** Test files that run at the same time must not install into one folder. */
function fetchInto(folder: string, version: string): void {
  const own = `${folder}-${process.pid}`;
  fetchNode(version, own);
  try {
    fs.renameSync(own, folder);
  } catch {
    // Another was first.
    fs.rmSync(own, { recursive: true, force: true });
  }
}

function fetchNode(version: string, folder: string): string | undefined {
  const tools = require('../../../scripts/fetch-node.js') as FetchNode;
  return tools.fetchNode(version, folder);
}
