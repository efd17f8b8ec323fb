import type { Node, NodeAPI, NodeDef } from 'node-red';
import { textOf } from '../support/settings';

/**
 * For a Node.js that is too old to take alarms: a connection that is cut makes the service send again, for a day; Node-RED's
 * 404 would end that.
 * @returns to be told of each *webhook in*
 */
export function cutAlarms(RED: NodeAPI): (node: Node, config: NodeDef) => void {
  /** By id of the node; kept while a deploy builds it anew. */
  const paths = new Map<string, string>();
  if (typeof RED.httpNode === 'function') {
    RED.httpNode.use((req, _res, next) => {
      if ([...paths.values()].includes(bare(req.path))) req.socket.destroy();
      else next();
    });
  }
  return (node, config) => {
    // Variables are resolved in the properties of a node that is built.
    const path = bare(textOf({ ...config }, 'path'));
    // One without a path would cut whatever is asked of the root.
    if (path === '') paths.delete(node.id);
    else paths.set(node.id, path);
    node.on('close', (removed: boolean, done: () => void) => {
      if (removed) paths.delete(node.id);
      done();
    });
  };
}

function bare(path: string): string {
  return path.replace(/^\/+|\/$/g, '').toLowerCase();
}
