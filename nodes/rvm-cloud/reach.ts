import type { Node, NodeAPI } from 'node-red';
import type { ProxySettings } from '../../lib/cloud/http/proxy';
import { missingNode } from '../support/tls-node';

/** The core node `http proxy`. */
interface ProxyNode extends Node<{ username?: string; password?: string }> {
  url?: unknown;
  noproxy?: unknown;
}

/**
 * What a proxy node says; without one the proxy variables of the process hold.
 * @throws RvmError CONFIG_MISSING where it is gone
 */
export function proxyOf(RED: NodeAPI, id: string): ProxySettings {
  if (id === '') return { kind: 'environment' };
  const node = RED.nodes.getNode(id) as ProxyNode | null | undefined;
  if (node?.type !== 'http proxy') throw missingNode('proxy', 'cloud');
  const { username, password } = node.credentials ?? {};
  return { kind: 'proxy', url: textOf(node.url), username, password, except: textsOf(node.noproxy) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}
