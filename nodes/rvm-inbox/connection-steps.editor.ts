import type { ConnectionReport, ConnectionWarning } from '../../lib/inbox/postgres/connection-report';
import type { Step } from '../support/editor/requests';

type Said = (key: string, values?: Record<string, unknown>) => string;

/** What a test of a connection has found, as far as it came. */
export function connectionSteps(node: EditorNode, report: ConnectionReport): Step[] {
  const said: Said = (key, values) => node._(`rvm-inbox.test.${key}`, values);
  const { isWritable, hasRights, roundTrip, listens, warnings, fault } = report;
  const steps = [
    ...hostSteps(report, said),
    isWritable === true && good(said('writable')),
    hasRights === true && good(said('rights')),
    schemaStep(report, said),
    roundTrip !== undefined && good(said('roundTrip', { ms: roundTrip.toFixed(1) })),
    durabilityStep(report, said),
    listens === true && good(said('listens')),
    ...warnings.map((warning) => warningStep(node, warning, said)),
    fault !== undefined && { outcome: 'failed' as const, title: said('failed'), detail: fault },
  ];
  return steps.filter((step) => step !== false);
}

function hostSteps({ host, version = '', tls }: ConnectionReport, said: Said): Step[] {
  if (host === undefined) return [];
  const reached = good(said('reached', { host, version }));
  return [reached, tls === undefined ? open(said('notEncrypted')) : good(said('encrypted', { tls }))];
}

function schemaStep({ schemaVersion }: ConnectionReport, said: Said): Step | false {
  if (schemaVersion === undefined) return false;
  return good(schemaVersion === 'absent' ? said('noSchema') : said('schema', { version: schemaVersion }));
}

/** That one machine alone has an alarm is no fault, and not to be overlooked. */
function durabilityStep({ standbys, warnings }: ConnectionReport, said: Said): Step | false {
  if (standbys === undefined || warnings.includes('standby-away')) return false;
  if (standbys.length > 0) return good(said('standbys', { standbys: standbys.join(', ') }));
  return open(said('alone'), said('aloneHint'));
}

function warningStep(node: EditorNode, warning: ConnectionWarning, said: Said): Step {
  const detail = node._(`rvm-inbox.warning.${warning}`);
  if (warning === 'standby-away') return { outcome: 'failed', title: said('failed'), detail };
  return open(said(warning === 'no-listen' ? 'slowNews' : 'remark'), detail);
}

function good(title: string): Step {
  return { outcome: 'ok', title, detail: '' };
}

/** What a user should know, and may have meant so. */
function open(title: string, detail = ''): Step {
  return { outcome: 'open', title, detail };
}
