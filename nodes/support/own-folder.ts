import path from 'node:path';
import type { NodeAPI } from 'node-red';

/** Where this package keeps what is no flow and no inbox of another place. */
export function ownFolder(RED: NodeAPI): string {
  return path.join(RED.settings.userDir ?? process.cwd(), 'remote-monitoring');
}
