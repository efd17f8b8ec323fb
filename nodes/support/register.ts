import type { Node, NodeAPI, NodeDef } from 'node-red';
import { RvmError } from '../../lib/error';
import { unsetVariableError, unsetVariables } from './settings';
import { showFromStart, status } from './status';

interface Credentials {
  [name: string]: { type: 'text' | 'password' };
}

interface Further {
  /** What the editor gets to know, by names that begin as Node-RED writes the type. */
  settings?: Record<string, { value: string; exportable: true }>;
}

/**
 * Registers a type. On a Node.js that is too old the type registers all the same, shows what it needs and refuses
 * each message with CONFIG_MISSING, so that a flow keeps its nodes instead of losing them as "unknown".
 */
export function registerNode<N extends Node, D extends NodeDef>(
  RED: NodeAPI,
  type: string,
  build: (node: N, config: D) => void,
  credentials?: Credentials,
  { settings }: Further = {},
): void {
  function RvmNode(this: N, config: D): void {
    RED.nodes.createNode(this, config);
    if (nodeIsNewEnough()) {
      warnOfUnset(this, config);
      build(this, config);
    } else {
      refuseOldNode(RED, this);
    }
  }
  RED.nodes.registerType(type, RvmNode, {
    ...(credentials && { credentials }),
    ...(settings && { settings }),
  });
}

/** In the log too, for a status says what lacks and no more. */
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

/** The first release of Node.js that carries the package, as `engines` of package.json has it: `undici` asks for it. */
export const NEEDED_NODE = '22.19';

/**
 * The first releases, of each line, on which a stranger cannot foretell how keys and short texts of JSON are hashed: on those
 * before, a megabyte of well-chosen ones holds up `JSON.parse`, and with it a whole Node-RED, for seconds.
 */
const UNFORETOLD = ['22.22.2', '24.14.1', '25.8.2'];

/** Whether a Node.js can carry the package. */
export function nodeIsNewEnough(version = process.versions.node): boolean {
  return !isBefore(version, NEEDED_NODE);
}

/** The release that a user of one with such hashes is told to install: of the same line, or else the next. Undefined on others. */
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
