import type { Node, NodeAPI, NodeDef } from 'node-red';
import { RvmError } from '../../lib/error';
import { neededNode, nodeIsNewEnough } from './node-version';
import { unsetVariableError, unsetVariables } from './settings';
import { showFromStart, status } from './status';

interface Credentials {
  [name: string]: { type: 'text' | 'password' };
}

/**
 * Registers a type. On a Node.js that is too old the type registers all the same, shows what it needs and refuses
 * each message with CONFIG_MISSING, so that a flow keeps its nodes instead of losing them as "unknown".
 * @param onOldNode what else is done then
 */
export function registerNode<N extends Node, D extends NodeDef>(
  RED: NodeAPI,
  type: string,
  build: (node: N, config: D) => void,
  credentials?: Credentials,
  onOldNode: (node: Node, config: D) => void = () => undefined,
): void {
  function RvmNode(this: N, config: D): void {
    RED.nodes.createNode(this, config);
    if (nodeIsNewEnough()) {
      warnOfUnset(this, config);
      build(this, config);
    } else {
      refuseOldNode(RED, this);
      onOldNode(this, config);
    }
  }
  RED.nodes.registerType(type, RvmNode, credentials === undefined ? {} : { credentials });
}

/** In the log too, for a status says what lacks and no more. */
function warnOfUnset(node: Node, config: NodeDef): void {
  const unset = unsetVariables(config, node.credentials);
  if (unset !== undefined) node.warn(unsetVariableError(unset).message);
}

function refuseOldNode(RED: NodeAPI, node: Node): void {
  showFromStart(RED, node, () => status(RED, 'needsNode', { version: neededNode() }));
  node.on('input', (_msg, _send, done) => {
    const running = process.versions.node;
    done(
      new RvmError(
        'CONFIG_MISSING',
        `This node needs Node.js ${neededNode()} or newer, and runs on ${running}: update Node.js.`,
      ),
    );
  });
}
