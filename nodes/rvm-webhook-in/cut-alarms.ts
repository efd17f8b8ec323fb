import type { NodeAPI, NodeDef } from 'node-red';
import { textOf } from '../support/settings';

/**
 * For a Node.js that is too old to take alarms: a connection that is cut makes the service send again, for a day; Node-RED's
 * 404 would end that.
 */
export function cutAlarms(RED: NodeAPI): void {
  if (typeof RED.httpNode !== 'function') return;
  RED.httpNode.use((req, _res, next) => {
    if (hasWebhook(RED, req.path)) req.socket.destroy();
    else next();
  });
}

function hasWebhook(RED: NodeAPI, path: string): boolean {
  let isOurs = false;
  RED.nodes.eachNode((config: NodeDef) => {
    if (config.type === 'rvm-webhook-in') isOurs ||= bare(textOf({ ...config }, 'path')) === bare(path);
  });
  return isOurs;
}

function bare(path: string): string {
  return path.replace(/^\/+|\/+$/g, '').toLowerCase();
}
