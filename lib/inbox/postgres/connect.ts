import tls from 'node:tls';
import { Client, type ClientConfig } from 'pg';
import { withTimeout } from '../../concurrency/timers';
import { tlsOptions, type TlsSettings } from '../../tls';
import { LONGEST_NAME } from '../model';
import { storeFailed, type UnsafeSetting } from '../store/port';
import { type ConnectionSettings, type Host, hostText } from './connection-settings';
import { endGarbled, faultText, Session, TIMED_OUT } from './session';
import type { Row } from './tables';

/** Before the next one is tried, too, in milliseconds: what answers at all does so sooner. */
const HEAD_START = 1000;

/**
 * The first that is reached of several, in whose order they are tried: the next one once those before have failed, or have not
 * answered for a second. A machine that has lost its power says nothing, and others wait for nothing as long as it is asked.
 * @param drop told of those that are reached later
 * @throws AggregateError of all failures, in the order of the tries
 */
async function firstReached<Result>(
  tries: readonly (() => Promise<Result>)[],
  drop: (late: Result) => void,
): Promise<Result> {
  const underWay: Promise<Result>[] = [];
  for (const start of tries) {
    underWay.push(start());
    const reached = await withTimeout(Promise.any(underWay), HEAD_START).catch(() => undefined);
    if (reached !== undefined) break;
  }
  const first = await Promise.any(underWay);
  for (const each of underWay)
    each.then(
      (result) => {
        if (result !== first) drop(result);
      },
      () => undefined,
    );
  return first;
}

/** What keeps a server from being as durable as an inbox should be. */
export function unsafeSettings(
  { synchronousCommit, fsync, fullPageWrites, waitsForStandby }: ServerFacts,
  { hosts }: Pick<ConnectionSettings, 'hosts'>,
): UnsafeSetting[] {
  const found: [UnsafeSetting, boolean][] = [
    ['fsync-off', !fsync],
    ['full-page-writes-off', !fullPageWrites],
    ['synchronous-commit-off', synchronousCommit === 'off'],
    // Several servers are there so that one of them may die.
    ['standby-not-waited-for', hosts.length > 1 && !waitsForStandby],
  ];
  return found.filter(([, isSo]) => isSo).map(([what]) => what);
}

/** The oldest PostgreSQL that has what is used here. */
const OLDEST = 15;
/** For a connection to a host, and again for its first answer, in milliseconds. */
const PATIENCE = 5000;
/** Of silence, before the system asks whether the other side is still there, in milliseconds. */
const KEEP_ALIVE = 10_000;

const FACTS = `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS name,
  pg_backend_pid() AS pid, pg_is_in_recovery() AS recovers, current_setting('transaction_read_only') AS read_only,
  current_setting('synchronous_commit') AS synchronous_commit, current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS full_page_writes, current_setting('server_encoding') AS encoding,
  current_setting('synchronous_standby_names') AS standby_names`;

/** What a server says of itself. */
export interface ServerFacts {
  /** Such as `15.18`. */
  readonly version: string;
  /** Its settings of these names. */
  readonly synchronousCommit: string;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  readonly standbyNames: string;
  /** True where a commit waits for one of them. */
  readonly waitsForStandby: boolean;
}

/** A connection to the server that can be written. */
export interface Connected {
  readonly session: Session;
  readonly host: Host;
  readonly facts: ServerFacts;
}

/**
 * Connects to the first of the hosts that can be written, as far as they answer.
 * @param purpose tells the connections of an instance apart in `pg_stat_activity`
 * @throws RvmError STORE_FAILED with what keeps each host from being it, CONFIG_MISSING for settings of TLS that cannot be used
 */
export async function connect(settings: ConnectionSettings, purpose: string): Promise<Connected> {
  const { hosts } = settings;
  const config = configOf(settings, purpose);
  const tries = hosts.map((host) => () => connectTo(host, config));
  try {
    return await firstReached(tries, ({ session }) => session.destroy());
  } catch (error) {
    const { errors } = error as AggregateError;
    const reasons = Map.groupBy(hosts.entries(), ([index]) => faultText(errors[index]));
    const told = [...reasons]
      .map(([reason, of]) => `${of.map(([, host]) => hostText(host)).join(' and ')}: ${reason}`)
      .join('; ');
    if (hosts.length === 1) throw storeFailed(`no connection to the database at ${told}`);
    throw storeFailed(`none of its databases can be written: ${told}`);
  }
}

async function connectTo(host: Host, config: ClientConfig): Promise<Connected> {
  // Nobody speaks TLS on a Unix socket.
  const ssl = host.name.startsWith('/') ? false : config.ssl;
  const client = new Client({ ...config, ssl, host: host.name, port: host.port });
  // Whoever has asked something is told by the answer; that nobody had asked ends no process.
  client.on('error', () => undefined);
  const connecting = client.connect();
  endGarbled(client, ssl !== false);
  await connecting;
  try {
    const answer = await withTimeout(client.query<Row>(FACTS), PATIENCE);
    if (answer === undefined) throw new Error(TIMED_OUT);
    const [row = {}] = answer.rows;
    // What it was told to be served by: a pooler makes up a number.
    const { processID } = client as Client & { readonly processID?: unknown };
    return { session: new Session(client, row['pid'] !== processID), host, facts: usable(row) };
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  }
}

/** @throws RvmError CONFIG_MISSING */
function configOf(settings: ConnectionSettings, purpose: string): ClientConfig {
  const { user, password, database, instanceName } = settings;
  return {
    user,
    database,
    // As a function: else, without one, files and variables of the system would be looked through.
    password: () => password ?? '',
    ssl: sslOf(settings.tls),
    connectionTimeoutMillis: PATIENCE,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE,
    application_name: applicationName(purpose, instanceName),
    pipeline: true,
  };
}

/** As `pg_stat_activity` shows a connection. PostgreSQL has ASCII there. */
export function applicationName(purpose: string, instanceName: string): string {
  return `rvm ${purpose} ${instanceName}`.replace(/[^\x20-\x7e]/g, '?').slice(0, LONGEST_NAME);
}

function sslOf(choice: ConnectionSettings['tls']): ClientConfig['ssl'] {
  if (choice === 'off') return false;
  const settings: TlsSettings = choice === 'verify' ? {} : choice;
  const { servername, ...options } = tlsOptions(settings, 'inbox');
  if (servername === undefined) return options;
  // `pg` asks for the name of the host in any case.
  return { ...options, checkServerIdentity: (_host, cert) => tls.checkServerIdentity(servername, cert) };
}

/** @throws Error where it cannot be used */
function usable(row: Row): ServerFacts {
  const version = /^[\w.]{1,20}/.exec(String(row['name']))?.[0] ?? '';
  if (Number(row['version']) < OLDEST * 10_000)
    throw storeFailed(`it is PostgreSQL ${version}: version ${OLDEST} or newer is needed`);
  if (row['recovers'] === true)
    throw storeFailed(
      'it is a standby, which cannot be written: name the primary in the connection, too, and see that it runs; ' +
        'where it has died for good, promote this one',
    );
  if (row['read_only'] === 'on')
    throw storeFailed(
      'it is set read-only (default_transaction_read_only): set it so that it can be written',
    );
  if (row['encoding'] !== 'UTF8')
    throw storeFailed(
      `its database cannot hold all texts (it has the encoding ${String(row['encoding'])}): create one with ENCODING 'UTF8' TEMPLATE template0`,
    );
  const synchronousCommit = String(row['synchronous_commit']);
  const standbyNames = String(row['standby_names']);
  return {
    version,
    synchronousCommit,
    fsync: row['fsync'] === 'on',
    fullPageWrites: row['full_page_writes'] === 'on',
    standbyNames,
    waitsForStandby: standbyNames !== '' && synchronousCommit !== 'local',
  };
}
