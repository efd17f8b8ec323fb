import { randomUUID } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import { withTimeout } from '../../concurrency/timers';
import { type ConnectionReport, hostText, type ConnectionSettings } from './connection-settings';
import { connect, type Connected, type ServerFacts, unsafeSettings } from './connect';
import { faultText, TIMED_OUT, type Session, type Statement } from './session';
import { inspect } from './schema';
import { DURABLE, quoted } from './tables';

/** For a notice to oneself to come through, in milliseconds. */
const NOTICE = 1000;
/** For the whole test, once there is a connection, in milliseconds. */
const DEADLINE = 10_000;
/** For a commit, in milliseconds. */
const COMMIT = 3000;
const ROUND_TRIPS = 5;

/** Something to commit. */
const NOTHING: Statement = {
  name: 'nothing',
  text: `SELECT ${DURABLE}, pg_logical_emit_message(true, 'rvm', '')`,
};
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
    const connected = await connectFor(settings);
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

function connectFor(settings: ConnectionSettings): Promise<Connected> {
  return connect(settings, 'test');
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
  if (stream instanceof TLSSocket) report.tls = stream.getProtocol() ?? 'TLS';
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
  const { session: other } = await connectFor(settings);
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
