import path from 'node:path';
import { ROOT } from './node-red';

interface FetchNode {
  fetchNode(version: string, folder: string): string | undefined;
}

/** A Node binary of another version. Undefined where it cannot be had: the test is then skipped and says so. */
export function otherNode(version: string): string | undefined {
  const tools = require('../../scripts/fetch-node.js') as FetchNode;
  return tools.fetchNode(version, path.join(ROOT, '.node', version));
}
