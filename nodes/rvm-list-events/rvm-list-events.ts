import type { Node, NodeAPI, NodeDef } from 'node-red';
import { RvmError } from '../../lib/error';
import { eventRow, type EventRow } from '../../lib/inbox/store/stored-message';
import { type Inbox, type ListQuery, GROUPINGS, type TallyQuery, type TallyRow } from '../../lib/inbox/model';
import type { InboxClaim } from '../../lib/inbox/inboxes';
import { listAll, tallyAll } from '../../lib/inbox/searches';
import { idsIn } from '../../lib/message/event-filter';
import { readTime, timeOf } from '../../lib/time';
import { allInboxes, claimInbox } from '../rvm-inbox/inboxes';
import { FailureStatus, onInput } from '../support/input';
import { registerNode } from '../support/register';
import {
  choiceOf,
  flagOf,
  numberOf,
  unsetVariableError,
  unsetVariables,
  type Properties,
} from '../support/settings';
import { showFromStart, unsetStatus } from '../support/status';
import { typedValue } from '../support/typed-input';

const EMPTY = { value: '', type: 'str' };
const LIMIT = 100;
/** Maximum: all rows are sent in one message. */
const MOST = 10_000;

/**
 * @param end of the period that it is
 * @returns milliseconds since 1970; undefined = without that end
 * @throws RvmError BAD_INPUT
 */
function endOf(value: unknown, end: 'from' | 'up to'): number | undefined {
  if (isEmpty(value)) return undefined;
  const time = timeOf(value) ?? timeIn(value);
  if (!Number.isNaN(time)) return time;
  throw new RvmError(
    'BAD_INPUT',
    `The time to list events ${end} cannot be read: give ISO 8601, such as 2026-03-04T05:06:07Z, or milliseconds.`,
  );
}

function timeIn(value: unknown): number {
  if (typeof value !== 'string' && typeof value !== 'number') return NaN;
  return readTime(value)?.getTime() ?? Number(value);
}

/**
 * Ids and names: of a text as the filters of *webhook in* have it, of a list each.
 * @returns undefined = all
 * @throws RvmError BAD_INPUT
 */
function placesOf(value: unknown, what: 'site' | 'camera'): string[] | undefined {
  if (isEmpty(value)) return undefined;
  const ids = typeof value === 'string' ? idsIn(value) : [value].flat().map(idOf);
  if (ids.includes(undefined))
    throw new RvmError(
      'BAD_INPUT',
      `A ${what} to list events of must be text or a number, or a list of them.`,
    );
  return ids.length === 0 ? undefined : (ids as string[]);
}

function idOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : undefined;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** Rows, and the fault that makes them incomplete. */
interface Listed {
  rows: (EventRow | TallyRow)[];
  fault?: unknown;
}

/** @throws RvmError STORE_FAILED where no inbox can be read and there are no spilled messages */
function listed(inboxes: readonly Inbox[], rows: Listed['rows'], faults: readonly unknown[]): Listed {
  const [fault] = faults;
  if (fault !== undefined && rows.length === 0 && faults.length === inboxes.length) throw fault;
  return { rows, ...(fault !== undefined && { fault }) };
}

/** Events of all inboxes that can be read. */
async function eventsOf(inboxes: readonly Inbox[], query: ListQuery): Promise<Listed> {
  const { messages, faults } = await listAll(inboxes, query);
  const rows = messages.map((message) => ({
    ...eventRow(message),
    ...(message.history && { history: message.history }),
  }));
  return listed(inboxes, rows, faults);
}

async function countsOf(inboxes: readonly Inbox[], query: TallyQuery): Promise<Listed> {
  const { rows, faults } = await tallyAll(inboxes, query);
  return listed(inboxes, rows, faults);
}

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };
  const unset = unsetVariables(config);
  const shown = new FailureStatus(node, () => (unset === undefined ? {} : unsetStatus(RED, unset)));
  if (unset !== undefined) showFromStart(RED, node, () => shown.current());

  // Without a webhook node no inbox is open; the default one is queried then.
  let claim: InboxClaim | undefined;
  const inboxes = (): Inbox[] =>
    allInboxes().length > 0 ? allInboxes() : [(claim ??= claimInbox(RED)).inbox];
  node.on('close', () => claim?.release());
  /** Why the last list was incomplete. */
  let missing: RvmError | undefined;

  onInput(
    node,
    async (msg) => {
      if (unset !== undefined) throw unsetVariableError(unset);
      const state = choiceOf(properties, 'state', ['open', 'settled', 'dead', 'filtered', 'all']);
      const limit = Math.min(MOST, Math.floor(numberOf(properties, 'limit', LIMIT, 1)));
      const given = (name: string): Promise<unknown> =>
        typedValue(RED, node, { properties, name, byDefault: EMPTY }, msg);
      const since = endOf(await given('since'), 'from');
      const until = endOf(await given('until'), 'up to');
      const sites = placesOf(await given('site'), 'site');
      const cameras = placesOf(await given('camera'), 'camera');
      const by = choiceOf(properties, 'groupBy', ['', ...GROUPINGS]);
      const query = {
        state,
        limit,
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
        ...(sites && { sites }),
        ...(cameras && { cameras }),
      };
      const { rows, fault } =
        by === ''
          ? await eventsOf(inboxes(), { ...query, ...(flagOf(properties, 'history') && { history: true }) })
          : await countsOf(inboxes(), { ...query, by });
      msg.payload = rows;
      missing = fault instanceof RvmError ? fault : undefined;
      if (missing === undefined) delete msg.incomplete;
      else msg.incomplete = missing.message;
    },
    (failure) => shown.ended(failure ?? missing),
  );
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-list-events', build);
