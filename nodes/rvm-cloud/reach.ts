import type { Node, NodeAPI } from 'node-red';
import type { ProxySettings } from '../../lib/cloud/http/connection/proxy-settings';
import type { TlsSettings } from '../../lib/tls/tls-settings';
import { RvmError } from '../../lib/error';

/** The core node `tls-config`. */
interface TlsNode extends Node {
  /** False where its files could not be read; why stands in the log. */
  valid?: boolean;
  addTLSOptions(options: TlsSettings): TlsSettings;
}

/** The core node `http proxy`. */
interface ProxyNode extends Node<{ username?: string; password?: string }> {
  url?: unknown;
  noproxy?: unknown;
}

/**
 * What a TLS node says, for a client. Ask when a connection is made: the node may be built later than the cloud.
 * @throws RvmError CONFIG_MISSING where it is gone, or has no files that can be used
 */
export function tlsOf(RED: NodeAPI, id: string): TlsSettings | undefined {
  if (id === '') return undefined;
  const node = RED.nodes.getNode(id) as Partial<TlsNode> | null | undefined;
  if (node?.addTLSOptions === undefined) throw missing('TLS');
  if (node.valid === false) {
    throw new RvmError(
      'CONFIG_MISSING',
      'The files of the TLS node of the cloud cannot be read: correct them there; the log says why.',
    );
  }
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = node.addTLSOptions({});
  return { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized };
}

/**
 * What a proxy node says; without one the proxy variables of the process hold.
 * @throws RvmError CONFIG_MISSING where it is gone
 */
export function proxyOf(RED: NodeAPI, id: string): ProxySettings {
  if (id === '') return { kind: 'environment' };
  const node = RED.nodes.getNode(id) as ProxyNode | null | undefined;
  if (node?.type !== 'http proxy') throw missing('proxy');
  const { username, password } = node.credentials ?? {};
  return { kind: 'proxy', url: textOf(node.url), username, password, except: textsOf(node.noproxy) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

function missing(kind: string): RvmError {
  return new RvmError(
    'CONFIG_MISSING',
    `The ${kind} node of the cloud is missing or disabled: choose another in the cloud, or none.`,
  );
}
