import type { Node, NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import type { TlsSettings } from '../../lib/tls';

/** The core node `tls-config`. */
interface TlsNode extends Node {
  /** False where its files could not be read; the reason is in the log. */
  valid?: boolean;
  addTLSOptions(options: TlsSettings): TlsSettings;
}

/** Node type with the setting, so that the user can find it. */
type Owner = 'cloud' | 'inbox';

/**
 * Client settings of a TLS node. To be called when a connection is made: the TLS node may be built later than its owner.
 * @throws RvmError CONFIG_MISSING where the node is missing, or its files are not usable
 */
export function tlsOf(RED: NodeAPI, id: string, owner: Owner): TlsSettings | undefined {
  if (id === '') return undefined;
  const node = RED.nodes.getNode(id) as Partial<TlsNode> | null | undefined;
  if (node?.addTLSOptions === undefined) throw missingNode('TLS', owner);
  if (node.valid === false) {
    throw new RvmError(
      'CONFIG_MISSING',
      `The files of the TLS node of the ${owner} cannot be read: correct them there; the log says why.`,
    );
  }
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = node.addTLSOptions({});
  return { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized };
}

/**
 * Settings for a draft address: trusted certificates are no secret, a private key is.
 * @throws RvmError CONFIG_MISSING where the node has a private key
 */
export function withoutKey(tls: TlsSettings | undefined): TlsSettings | undefined {
  if (tls === undefined) return undefined;
  if (tls.key !== undefined || tls.pfx !== undefined) throw storedSecret('The key of the TLS node');
  return tls;
}

/** @param what the secret that is not sent to a draft address */
export function storedSecret(what: string): RvmError {
  return new RvmError('CONFIG_MISSING', `${what} is used by deployed nodes only: deploy the flow first.`);
}

export function missingNode(kind: string, owner: Owner): RvmError {
  return new RvmError(
    'CONFIG_MISSING',
    `The ${kind} node of the ${owner} is missing or disabled, or not deployed yet: deploy the flow, ` +
      `or choose another in the ${owner}, or none.`,
  );
}
