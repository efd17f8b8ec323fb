import os from 'node:os';
import { RvmError } from '../../error';
import type { TlsSettings } from '../../tls';
import { isSchemaName } from '../model';
import type { UnsafeSetting } from '../store/port';

/** What is odd about a server that can be used. */
export type ConnectionWarning =
  | UnsafeSetting
  /** A standby is to be waited for, and none is there: nothing can be stored. */
  | 'standby-away'
  /** NOTIFY does not come through, as behind a pooler: news takes a second. */
  | 'no-listen';

/** What a test has found out about a connection; of a failure, all that came before it. */
export interface ConnectionReport {
  /** Why the inbox cannot use it and what to do, in one sentence that holds no password; absent where it can. */
  fault?: string;
  /** The host that was taken, with its port. */
  host?: string;
  /** Such as `15.18`. */
  version?: string;
  isWritable?: boolean;
  /** True where the role may do all that the inbox does. */
  hasRights?: boolean;
  /** Of the schema there; `absent` where it will be made. */
  schemaVersion?: number | 'absent';
  /** Milliseconds of one question and its answer: the median of a few. */
  roundTrip?: number;
  /** Such as `TLSv1.3`; absent without TLS. */
  tls?: string;
  /** Names of the standbys that a commit waits for; none where one machine alone has what is acknowledged. */
  standbys?: string[];
  /** `synchronous_commit` as it counts for the inbox. */
  synchronousCommit?: string;
  /** True where NOTIFY comes through. */
  listens?: boolean;
  warnings: ConnectionWarning[];
}

/** Where a PostgreSQL may be. */
export interface Host {
  /** Name, address, or the folder of a Unix socket. */
  readonly name: string;
  readonly port: number;
}

/** What a user has set of an inbox in PostgreSQL, besides its connection. */
export interface ConnectionChoices {
  schema: string;
  /** `verify`: TLS, proven by the authorities that Node.js trusts. `off`: none. Else as a TLS node says. */
  tls: 'verify' | 'off' | TlsSettings;
  /** For people; empty for the name of this machine. */
  instanceName: string;
}

/** How an inbox in PostgreSQL is reached. Holds a password: not for logs. */
export interface ConnectionSettings extends Readonly<ConnectionChoices> {
  /** In the order in which they are tried: the first that can be written is taken. */
  readonly hosts: readonly Host[];
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
}

const DEFAULT_PORT = 5432;
const PARTS = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#]*)(?:\/([^@/?#]*))?(?:\?([^#]*))?$/i;
const HOST = /^(\[[\da-f:.%a-z]+\]|[^:[\]]*)(?::(\d*))?$/i;
/** Of the parameters that other programs read, those that are told by name: a text that is none may be part of a password. */
const TOLD_PARAMETERS = /^(application_name|channel_binding|connect_timeout|options|target_session_attrs)=/;
const OF_TLS = /^(ssl|sslmode|sslrootcert|sslcert|sslkey|sslnegotiation|sslpassword|uselibpqcompat)=/;

/**
 * Reads a connection such as `postgres://user:password@host:5432/database`, with several hosts where there are several servers.
 * @throws RvmError CONFIG_MISSING, which shows nothing of it
 */
export function readConnection(text: string, choices: ConnectionChoices): ConnectionSettings {
  const [, login = '', hosts = '', database = '', parameters = ''] = PARTS.exec(text.trim()) ?? unreadable();
  refuse(parameters);
  const [user = '', ...password] = login.split(':');
  if (user === '') throw refused('it names no user');
  return {
    ...choices,
    schema: schemaOf(choices.schema),
    instanceName: choices.instanceName.trim() || os.hostname(),
    hosts: hosts.split(',').map(hostOf),
    user: decoded(user),
    password: decoded(password.join(':')) || undefined,
    database: decoded(database === '' ? user : database),
  };
}

/** A host as people write it. */
export function hostText({ name, port }: Host): string {
  return name.includes(':') ? `[${name}]:${port}` : `${name}:${port}`;
}

/** Which inbox it is, for people: neither user nor password. */
export function connectionTitle({ hosts, database, schema }: ConnectionSettings): string {
  return `${hosts.map(hostText).join(',')}/${database}, schema ${schema}`;
}

function hostOf(text: string): Host {
  if (text.includes('@')) throw refused('an @ in the user or the password must be written as %40');
  const [, bracketed, port] = HOST.exec(text) ?? [];
  if (bracketed === undefined) throw refused('a host is no name, no address, or has no number as its port');
  const name = bracketed.startsWith('[') ? bracketed.slice(1, -1) : decoded(bracketed);
  if (name === '') throw refused('it names no host');
  const number = port === undefined || port === '' ? DEFAULT_PORT : Number(port);
  if (number < 1 || number > 65_535) throw refused('a port is not between 1 and 65535');
  return { name, port: number };
}

function decoded(text: string): string {
  try {
    const plain = decodeURIComponent(text);
    if (!plain.includes('\0')) return plain;
  } catch {
    // Told below.
  }
  throw refused('a percent sign in the user, the password or the database must be written as %25');
}

function refuse(parameters: string): void {
  for (const parameter of parameters.split('&')) {
    if (parameter === '') continue;
    if (OF_TLS.test(parameter)) throw refused('TLS is chosen in the node, so remove what begins with ssl');
    const told = TOLD_PARAMETERS.exec(parameter)?.[1];
    if (told !== undefined) throw refused(`remove the parameter ${told}, which is not used here`);
    throw refused('remove what stands behind the question mark, or write one in the password as %3F');
  }
}

function schemaOf(text: string): string {
  const schema = text.trim();
  if (isSchemaName(schema)) return schema;
  throw new RvmError(
    'CONFIG_MISSING',
    'The schema of the inbox cannot be used: enter a name of at most 63 characters that does not begin with pg_, such as rvm.',
  );
}

function unreadable(): never {
  throw refused('it is none, or a character such as / ? # in its password is not written as %2F %3F %23');
}

function refused(reason: string): RvmError {
  return new RvmError(
    'CONFIG_MISSING',
    `The connection of the inbox cannot be used: ${reason}; enter it as postgres://user:password@host:5432/database.`,
  );
}
