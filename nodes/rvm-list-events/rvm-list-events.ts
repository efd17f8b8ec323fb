import type { Node, NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import type { InboxClaim } from '../../lib/inbox/inboxes';
import { GROUPINGS, type Inbox, type ListedMessage, type ListQuery } from '../../lib/inbox/model';
import { listAll, tallyAll } from '../../lib/inbox/searches';
import { eventRow, type EventRow } from '../../lib/inbox/store/stored-message';
import { idsIn } from '../../lib/message/event-filter';
import { timeOf, writtenTime } from '../../lib/time';
import { allInboxes, claimInbox } from '../rvm-inbox/inboxes';
import { FailureStatus, onInput } from '../support/input';
import { type NodeConfig, registerNode } from '../support/register';
import { choiceOf, flagOf, numberOf, unsetVariableError, unsetVariables } from '../support/settings';
import { showFromStart, unsetStatus } from '../support/status';
import { sourceOf, type TypedInput, typedValue } from '../support/typed-input';

const EMPTY = { value: '', type: 'str' };
const LIMIT = 100;
/** Maximum: all rows are sent in one message. */
const MOST = 10_000;

/**
 * One end of the period, in milliseconds since 1970; undefined = without that end.
 * @throws RvmError BAD_INPUT
 */
function endOf(value: unknown, input: TypedInput): number | undefined {
  if (isEmpty(typeof value === 'string' ? value.trim() : value)) return undefined;
  const time = timeOf(value) ?? timeIn(value);
  if (!Number.isNaN(time)) return time;
  throw new RvmError(
    'BAD_INPUT',
    `The property ${input.name} cannot be read as a time in ${sourceOf(input)}: give ISO 8601, such as 2026-03-04T05:06:07Z, or milliseconds since 1970, not seconds.`,
  );
}

function timeIn(value: unknown): number {
  return typeof value === 'string' || typeof value === 'number' ? writtenTime(value) : NaN;
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

interface ListedRow extends EventRow {
  history?: ListedMessage['history'];
}

/** Events of all inboxes that can be read, and the faults of the others. */
async function eventsOf(
  inboxes: readonly Inbox[],
  query: ListQuery,
): Promise<{ rows: ListedRow[]; faults: unknown[] }> {
  const { messages, faults } = await listAll(inboxes, query);
  const rows = messages.map((message) => ({
    ...eventRow(message),
    ...(message.history && { history: message.history }),
  }));
  return { rows, faults };
}

function build(RED: NodeAPI, node: Node, config: NodeConfig): void {
  const unset = unsetVariables(config);
  const shown = new FailureStatus(node, () => (unset === undefined ? {} : unsetStatus(RED, unset)));
  if (unset !== undefined) showFromStart(RED, node, () => shown.current());

  // Without a webhook node no inbox is open; the default one is queried then.
  let claim: InboxClaim | undefined;
  const openOrDefault = (): Inbox[] =>
    allInboxes().length > 0 ? allInboxes() : [(claim ??= claimInbox(RED)).inbox];
  node.on('close', () => claim?.release());
  /** Why the last list was incomplete. */
  let missing: RvmError | undefined;

  onInput(
    node,
    async (msg) => {
      if (unset !== undefined) throw unsetVariableError(unset);
      const inputOf = (name: string): TypedInput => ({ properties: config, name, byDefault: EMPTY });
      const given = (name: string): Promise<unknown> => typedValue(RED, node, inputOf(name), msg);
      const query = {
        state: choiceOf(config, 'state', ['open', 'settled', 'dead', 'filtered', 'all']),
        limit: Math.min(MOST, Math.floor(numberOf(config, 'limit', LIMIT, 1))),
        since: endOf(await given('since'), inputOf('since')),
        until: endOf(await given('until'), inputOf('until')),
        sites: placesOf(await given('site'), 'site'),
        cameras: placesOf(await given('camera'), 'camera'),
      };
      const by = choiceOf(config, 'groupBy', ['', ...GROUPINGS]);
      const inboxes = openOrDefault();
      const { rows, faults } =
        by === ''
          ? await eventsOf(inboxes, { ...query, history: flagOf(config, 'history') || undefined })
          : await tallyAll(inboxes, { ...query, by });
      const [fault] = faults;
      if (fault !== undefined && rows.length === 0 && faults.length === inboxes.length) throw fault;
      msg.payload = rows;
      missing = fault instanceof RvmError ? fault : undefined;
      if (missing === undefined) delete msg.incomplete;
      else msg.incomplete = missing.message;
    },
    (failure) => shown.ended(failure ?? missing),
  );
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-list-events', build);
