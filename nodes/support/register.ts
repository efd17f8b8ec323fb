import type { Node, NodeAPI, NodeDef } from 'node-red';
import { RvmError } from '../../lib/error';
import { type Properties, unsetVariableError, unsetVariables } from './settings';
import { showFromStart, status } from './status';

interface Credentials {
  [name: string]: { type: 'text' | 'password' };
}

interface Further {
  credentials?: Credentials;
  /** Settings for the editor; Node-RED requires names that begin with the camel-case type. */
  settings?: Record<string, { value: string; exportable: true }>;
}

/** The properties of a node, as its type gets them. */
export type NodeConfig = NodeDef & Properties;

/**
 * Registers a type. On a Node.js that is too old the type is registered all the same, shows the needed version and refuses each
 * message with CONFIG_MISSING, so that a flow does not lose its nodes as "unknown".
 */
export function registerNode<N extends Node>(
  RED: NodeAPI,
  type: string,
  build: (RED: NodeAPI, node: N, config: NodeConfig) => void,
  further: Further = {},
): void {
  function RvmNode(this: N, config: NodeConfig): void {
    RED.nodes.createNode(this, config);
    if (!nodeIsNewEnough()) return refuseOldNode(RED, this);
    warnOfUnset(this, config);
    build(RED, this, config);
  }
  RED.nodes.registerType(type, RvmNode, further);
}

/** Logged too, because the status names only the missing variables. */
function warnOfUnset(node: Node, config: NodeDef): void {
  const unset = unsetVariables(config, node.credentials);
  if (unset !== undefined) node.warn(unsetVariableError(unset).message);
}

function refuseOldNode(RED: NodeAPI, node: Node): void {
  showFromStart(RED, node, () => status(RED, 'needsNode', { version: NEEDED_NODE }));
  node.on('input', (_msg, _send, done) => {
    const running = process.versions.node;
    done(
      new RvmError(
        'CONFIG_MISSING',
        `This node needs Node.js ${NEEDED_NODE} or newer, and runs on ${running}: update Node.js.`,
      ),
    );
  });
}

/** First release of Node.js that runs the package, as in `engines` of package.json: `undici` requires it. */
export const NEEDED_NODE = '22.19';

/**
 * First releases of each line with unpredictable hashes of keys and short strings in JSON. On older ones a sender can choose a
 * megabyte of colliding keys that block `JSON.parse`, and with it the whole Node-RED, for seconds.
 */
const UNFORETOLD = ['22.22.2', '24.14.1', '25.8.2'];

/** True where a Node.js can run the package. */
export function nodeIsNewEnough(version = process.versions.node): boolean {
  return !isBefore(version, NEEDED_NODE);
}

/**
 * Release to recommend to users of a Node.js with predictable hashes: of the same line, else of the next. Undefined on others.
 */
export function saferNode(version = process.versions.node): string | undefined {
  const first = UNFORETOLD.find((release) => lineOf(release) >= lineOf(version));
  return first !== undefined && isBefore(version, first) ? first : undefined;
}

function isBefore(one: string, other: string): boolean {
  return one.localeCompare(other, 'en', { numeric: true }) < 0;
}

function lineOf(version: string): number {
  return Number.parseInt(version, 10);
}
