import { randomUUID } from 'node:crypto';
import tls from 'node:tls';
import { Client, type ClientConfig } from 'pg';
import { withTimeout } from '../../concurrency/timers';
import { tlsOptions, type TlsSettings } from '../../tls';
import { LONGEST_NAME } from '../model';
import { storeFailed, type UnsafeSetting } from '../store/port';
import { readerOf, type Row } from '../store/stored-row';
import { type ConnectionReport, type ConnectionSettings, type Host, hostText } from './connection-settings';
import { inspect } from './schema';
import { endGarbled, faultText, Session, TIMED_OUT } from './session';
import { DURABLE, quoted } from './tables';

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
  pg_backend_pid() AS pid, pg_is_in_recovery() AS recovers, current_setting('transaction_read_only') = 'on' AS "isReadOnly",
  current_setting('synchronous_commit') AS "synchronousCommit", current_setting('fsync') = 'on' AS fsync,
  current_setting('full_page_writes') = 'on' AS "fullPageWrites", current_setting('server_encoding') AS encoding,
  current_setting('synchronous_standby_names') AS "standbyNames"`;

const factsIn = readerOf({
  synchronousCommit: String,
  fsync: Boolean,
  fullPageWrites: Boolean,
  standbyNames: String,
});

/** What a server says of itself, its settings among it. */
export interface ServerFacts extends ReturnType<typeof factsIn> {
  /** Such as `15.18`. */
  readonly version: string;
  /** True where a commit waits for one of the standbys. */
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
  const facts = factsIn(row);
  const version = /^[\w.]{1,20}/.exec(String(row['name']))?.[0] ?? '';
  if (Number(row['version']) < OLDEST * 10_000)
    throw storeFailed(`it is PostgreSQL ${version}: version ${OLDEST} or newer is needed`);
  if (row['recovers'] === true)
    throw storeFailed(
      'it is a standby, which cannot be written: name the primary in the connection, too, and see that it runs; ' +
        'where it has died for good, promote this one',
    );
  if (row['isReadOnly'] === true)
    throw storeFailed(
      'it is set read-only (default_transaction_read_only): set it so that it can be written',
    );
  if (row['encoding'] !== 'UTF8')
    throw storeFailed(
      `its database cannot hold all texts (it has the encoding ${String(row['encoding'])}): create one with ENCODING 'UTF8' TEMPLATE template0`,
    );
  const waitsForStandby = facts.standbyNames !== '' && facts.synchronousCommit !== 'local';
  return { ...facts, version, waitsForStandby };
}

/** For a notice to oneself to come through, in milliseconds. */
const NOTICE = 1000;
/** For a whole test, once there is a connection, in milliseconds. */
const DEADLINE = 10_000;
/** For a commit, in milliseconds. */
const COMMIT = 3000;
const ROUND_TRIPS = 5;

/** Something to commit. */
const NOTHING = `SELECT ${DURABLE}, pg_logical_emit_message(true, 'rvm', '')`;
const STANDBYS = `SELECT application_name AS name FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')`;
/** Connections of this role whose commits wait for a standby that does not answer. */
const OTHERS_WAIT = `SELECT FROM pg_stat_activity
  WHERE wait_event = 'SyncRep' AND clock_timestamp() - query_start > interval '2 seconds' LIMIT 1`;

/**
 * Tries out a connection as an inbox would use it; changes nothing there.
 * @param deadline for all of it once there is a connection, in milliseconds
 */
export async function testConnection(
  settings: ConnectionSettings,
  deadline = DEADLINE,
): Promise<ConnectionReport> {
  const report: ConnectionReport = { warnings: [] };
  try {
    const connected = await connect(settings, 'test');
    try {
      const isDone = await withTimeout(tryOut(connected, settings, report), deadline);
      if (isDone === undefined) throw new Error(TIMED_OUT);
    } finally {
      await connected.session.close();
    }
  } catch (error) {
    report.fault = sentence(error);
  }
  // What comes too late changes nothing of it any more.
  return { ...report, warnings: [...report.warnings] };
}

async function tryOut(
  { session, host, facts }: Connected,
  settings: ConnectionSettings,
  report: ConnectionReport,
): Promise<true> {
  report.host = hostText(host);
  report.version = facts.version;
  report.isWritable = true;
  report.roundTrip = await roundTrip(session);
  const { stream } = session.client.connection;
  if (stream instanceof tls.TLSSocket) report.tls = stream.getProtocol() ?? 'TLS';
  report.synchronousCommit = facts.synchronousCommit === 'off' ? 'on' : facts.synchronousCommit;
  report.warnings.push(...unsafeSettings(facts, settings));
  report.hasRights = false;
  report.schemaVersion = (await inspect(session, settings.schema)) ?? 'absent';
  report.hasRights = true;
  report.standbys = await standbys(session, facts);
  if (facts.waitsForStandby && (await isStandbyAway(session))) report.warnings.push('standby-away');
  report.listens = await hearsNotices(session, settings);
  if (!report.listens) report.warnings.push('no-listen');
  return true;
}

async function roundTrip({ client }: Session): Promise<number> {
  const took: number[] = [];
  for (let asked = 0; asked < ROUND_TRIPS; asked += 1) {
    const begun = performance.now();
    await client.query('SELECT 1');
    took.push(performance.now() - begun);
  }
  return took.toSorted((one, other) => one - other)[Math.floor(ROUND_TRIPS / 2)] ?? 0;
}

/** A role that may not see them is told which are to be waited for. */
async function standbys(
  { client }: Session,
  { waitsForStandby, standbyNames }: ServerFacts,
): Promise<string[]> {
  if (!waitsForStandby) return [];
  const { rows } = await client.query<{ name: string | null }>(STANDBYS);
  const names = rows.flatMap(({ name }) => (name === null ? [] : [name]));
  return names.length > 0 ? names : [standbyNames];
}

/**
 * Commits something that changes nothing. Where that is not answered, a connection that waits for the standby is left behind:
 * one that is there already says so, too.
 */
async function isStandbyAway(session: Session): Promise<boolean> {
  const { rowCount } = await session.client.query(OTHERS_WAIT);
  if (rowCount !== 0) return true;
  const isCommitted = session.transaction([[NOTHING, []]]).then(() => true);
  isCommitted.catch(() => undefined);
  return (await withTimeout(isCommitted, COMMIT)) === undefined;
}

/** From another connection, as those of others come. */
async function hearsNotices({ client, isPooled }: Session, settings: ConnectionSettings): Promise<boolean> {
  if (isPooled) return false;
  const channel = `rvm test ${randomUUID()}`;
  const heard = new Promise<true>((resolve) => client.once('notification', () => resolve(true)));
  await client.query(`LISTEN ${quoted(channel)}`);
  const { session: other } = await connect(settings, 'test');
  try {
    await withTimeout(other.client.query(`NOTIFY ${quoted(channel)}`), NOTICE);
    return (await withTimeout(heard, NOTICE)) === true;
  } finally {
    await other.close();
  }
}

function sentence(error: unknown): string {
  const reason = faultText(error);
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1).replace(/\.$/, '')}.`;
}
