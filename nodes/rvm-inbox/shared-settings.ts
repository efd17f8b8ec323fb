import type { NodeAPI } from 'node-red';
import type { ConnectionSettings } from '../../lib/inbox/postgres/connection-settings';
import type { TlsSettings } from '../../lib/tls';
import { textOf, type Properties } from '../support/settings';
import { tlsOf } from '../support/tls-node';
import { TLS } from '../support/rules';

type SettingsModule = typeof import('../../lib/inbox/postgres/connection-settings');

/** What a user has entered of an inbox in PostgreSQL. Holds a password: not for logs. */
export interface SharedSettings {
  connection: string;
  schema: string;
  /** One of a few words, or the id of a TLS node. */
  tls: string;
  /** Empty for the name of this machine. */
  instanceName: string;
}

/** What credentials the node has. */
export const CREDENTIALS = { connection: { type: 'password' } } as const;

export function sharedSettingsOf(properties: Properties, credentials: Properties): SharedSettings {
  return {
    connection: textOf(credentials, 'connection').trim(),
    schema: textOf(properties, 'schema').trim() || 'rvm',
    tls: textOf(properties, 'tls').trim() || 'verify',
    instanceName: textOf(properties, 'instanceName').trim(),
  };
}

/**
 * How the database is reached. To be asked once all config nodes are there.
 * @param allowed what may be used of a TLS node
 * @throws RvmError CONFIG_MISSING, which shows nothing of the connection
 */
export function connectionOf(
  RED: NodeAPI,
  { connection, schema, tls, instanceName }: SharedSettings,
  allowed: (tls: TlsSettings | undefined) => TlsSettings | undefined = (all) => all,
): ConnectionSettings {
  // Loaded here and not above: most inboxes are files.
  const { readConnection } = require('../../lib/inbox/postgres/connection-settings') as SettingsModule;
  const word = TLS.find((choice) => choice === tls);
  return readConnection(connection, {
    schema,
    instanceName,
    tls: word ?? allowed(tlsOf(RED, tls, 'inbox')) ?? 'verify',
  });
}
