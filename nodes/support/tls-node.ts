import type { Node, NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import type { TlsSettings } from '../../lib/tls';

/** The core node `tls-config`. */
interface TlsNode extends Node {
  /** False where its files could not be read; why stands in the log. */
  valid?: boolean;
  addTLSOptions(options: TlsSettings): TlsSettings;
}

/** Whose setting it is, for the user to find it. */
type Owner = 'cloud' | 'inbox';

/**
 * What a TLS node says, for a client. Ask when a connection is made: the node may be built later than its owner.
 * @throws RvmError CONFIG_MISSING where it is gone, or has no files that can be used
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
 * For an address that is a draft: the certificates that are trusted are no secret; what proves who we are is.
 * @throws RvmError CONFIG_MISSING where it has such a key
 */
export function withoutKey(tls: TlsSettings | undefined): TlsSettings | undefined {
  if (tls === undefined) return undefined;
  if (tls.key !== undefined || tls.pfx !== undefined) throw storedSecret('The key of the TLS node');
  return tls;
}

/** @param what is not sent to an address that is a draft */
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
