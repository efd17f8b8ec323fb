import type { NodeAPI } from 'node-red';
import { configuredPaths } from '../support/configured-webhooks';

/**
 * For a Node.js that is too old to take alarms: a connection that is cut makes the service send again, for a day; Node-RED's
 * 404 would end that.
 */
export function cutAlarms(RED: NodeAPI): void {
  if (typeof RED.httpNode !== 'function') return;
  RED.httpNode.use((req, _res, next) => {
    if (configuredPaths(RED).paths.some((path) => bare(path) === bare(req.path))) req.socket.destroy();
    else next();
  });
}

function bare(path: string): string {
  return path.replace(/^\/+|\/$/g, '').toLowerCase();
}
