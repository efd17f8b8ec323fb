import { repeat } from 'lit/directives/repeat.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import { matchAll, parseTerms } from '../../lib/text';
import type { UnknownPath } from '../../lib/webhook/unknown-paths';
import { notify } from '../support/editor/requests';
import { DeadLetterList } from './dead-letters.editor';
import type { EventParts } from './event-list.editor';
import {
  type AbandonedRow,
  type Overview,
  type PendingRow,
  type ProblemRow,
  QUARANTINE_ACTIONS,
  type QuarantineRow,
  type Taker,
} from './overview';
import {
  button,
  confirm,
  FrozenRows,
  type Holding,
  type ListContext,
  linesOf,
  own,
  present,
  rowAround,
  type RowAction,
  said,
  section,
  type ShownRow,
  shownSection,
  type TextRow,
  textRow,
} from './rows.editor';

/** Kinds of tasks in order of display. */
const KINDS = ['problems', 'abandoned', 'quarantine', 'unknownPaths', 'dead', 'pending'] as const;
type Kind = (typeof KINDS)[number];

/** Rows of all kinds together that are shown at first, where there are many: the events below must stay in sight. */
const FEW = 2;
/** Up to this number all rows are shown. */
const NOT_MANY = 4;

interface TaskList {
  /** Number of rows that match the search. */
  count: number;
  /** @returns number of rows that wait */
  take: (hold: Holding, most: number) => number;
}

/** What a section shows, as it was when rows last might move. */
interface SectionState {
  isShown: boolean;
  count: string;
  more: string;
  isFolded: boolean;
  /** Number of rows that wait. */
  waiting: number;
}

interface TasksOptions extends EventParts {
  search: () => string;
  /** Called when a site of the sandbox was accepted: its cameras are there now. */
  accepted: () => void;
}

/** Tasks that need a person: a few rows of each kind, all after "show all". */
export class Tasks {
  readonly #texts = byKind(() => new FrozenRows<TextRow>(({ key }) => key));
  readonly #abandoned = new FrozenRows<AbandonedRow>(({ inbox, endpointId }) => `${inbox} ${endpointId}`);
  readonly dead: DeadLetterList;
  readonly #sections = byKind((): SectionState => ({
    isShown: false,
    count: '',
    more: '',
    isFolded: false,
    waiting: 0,
  }));
  readonly #opened = new Set<Kind>();
  #quarantine: readonly QuarantineRow[] = [];

  constructor(
    private readonly desk: ListContext,
    private readonly options: TasksOptions,
  ) {
    this.dead = new DeadLetterList(desk, options, options.search);
  }

  /** Number of tasks of all kinds, independent of the search. */
  count(overview: Overview): number {
    const { problems, abandoned, quarantine, refused, unknownPaths, pending, dead, totals } = overview;
    const lists = [problems, abandoned, quarantine, refused, unknownPaths, pending];
    return lists.reduce((sum, { length }) => sum + length, Math.max(totals.dead, dead.length));
  }

  /** @returns number of rows that wait to be shown */
  take(overview: Overview): number {
    const lists = this.#lists(overview);
    this.#quarantine = overview.quarantine.filter(({ canVerify }) => canVerify);
    const counts = KINDS.map((kind) => (this.#opened.has(kind) ? 0 : lists[kind].count));
    const all = counts.reduce((sum, count) => sum + count, 0);
    const shares = sharesOf(counts, all > NOT_MANY ? FEW : all);
    for (const [index, kind] of KINDS.entries()) this.#take(kind, lists[kind], shares[index] ?? 0);
    return KINDS.reduce((sum, kind) => sum + this.#sections[kind].waiting, 0);
  }

  draw(): unknown {
    return KINDS.map((kind) => {
      const { isShown, ...state } = this.#sections[kind];
      if (!isShown) return nothing;
      const parts = { name: kind, tools: this.#tools(kind), list: this.#list(kind) };
      return section({ ...parts, ...state, unfold: () => this.#toggle(kind) });
    });
  }

  /** True where the first problem of a *webhook in* is in sight, or there is none. */
  get areProblemsInSight(): boolean {
    return (['problems', 'quarantine'] as const).every((kind) => {
      const { waiting, isShown } = this.#sections[kind];
      return waiting === 0 && (!isShown || isInSight(kind));
    });
  }

  #lists(overview: Overview): Record<Kind, TaskList> {
    const { problems, abandoned, quarantine, refused, unknownPaths, pending } = overview;
    const words = parseTerms(this.options.search());
    const texts = (kind: Kind, all: readonly TextRow[]): TaskList => {
      const rows = all.filter(({ lines }) => matchAll(lines, words));
      return { count: rows.length, take: (...how) => this.#texts[kind].take(rows, ...how) };
    };
    return {
      problems: texts('problems', problems.map(problemRow)),
      abandoned: { count: abandoned.length, take: (...how) => this.#abandoned.take(abandoned, ...how) },
      quarantine: texts('quarantine', [...quarantine.map(quarantineRow), ...refused.map(problemRow)]),
      unknownPaths: texts('unknownPaths', unknownPaths.map(unknownPathRow)),
      dead: { count: this.dead.count(overview), take: (...how) => this.dead.take(overview, ...how) },
      pending: texts(
        'pending',
        pending.map((row) => pendingRow(row, this.options.accepted)),
      ),
    };
  }

  #take(kind: Kind, { count, take }: TaskList, share: number): void {
    const state = this.#sections[kind];
    const hold = this.desk.holdOf(kind);
    const isOpened = this.#opened.has(kind);
    state.waiting = take(hold, isOpened ? Infinity : share);
    state.count = count.toLocaleString();
    if (hold === 'all') return;
    // A new section would move the rows the user looks at.
    state.isShown = count > 0 && (hold === 'none' || state.isShown);
    state.more = this.#moreText(kind, count, share);
    state.isFolded = share === 0 && !isOpened;
  }

  #moreText(kind: Kind, count: number, share: number): string {
    if (!this.#opened.has(kind))
      return count > share ? own('bar.all', { count: count.toLocaleString() }) : '';
    if (kind === 'dead' && this.dead.hasMore) return own('bar.more');
    return count > 1 ? own('bar.fewer') : '';
  }

  #toggle(kind: Kind): void {
    const isOpened = this.#opened.has(kind);
    const isMore = kind === 'dead' && (!isOpened || this.dead.hasMore);
    if (isMore || !isOpened) this.#opened.add(kind);
    else this.#opened.delete(kind);
    if (isMore) this.dead.feed.more();
    else if (kind === 'dead') this.dead.feed.fold();
    this.desk.redraw();
  }

  #list(kind: Kind): unknown {
    if (kind === 'dead') return this.dead.draw();
    if (kind === 'abandoned') return this.#abandoned.draw((shown) => abandonedRow(shown, this.desk));
    return this.#texts[kind].draw((shown) => textRow(shown, this.desk));
  }

  #tools(kind: Kind): unknown {
    if (kind === 'dead') return this.dead.bulk.draw();
    if (kind !== 'quarantine' || !this.desk.mayAct || this.#quarantine.length < 2) return nothing;
    const text = own('bulk.verify', { count: sumOf(this.#quarantine).toLocaleString() });
    return button(text, () => void this.#checkAll(), { action: 'verify-all' });
  }

  async #checkAll(): Promise<void> {
    const rows = this.#quarantine;
    const count = sumOf(rows).toLocaleString();
    if (!(await confirm(own('bulk.ask.verify', { count }), own('bulk.verify', { count })))) return;
    let accepted = 0;
    for (const row of rows) {
      const answer = await this.desk.act<{ accepted: number }>('quarantine', verifyAsked(row));
      accepted += answer?.accepted ?? 0;
    }
    tellAccepted(accepted);
  }
}

function byKind<Value>(make: (kind: Kind) => Value): Record<Kind, Value> {
  return Object.fromEntries(KINDS.map((kind) => [kind, make(kind)])) as Record<Kind, Value>;
}

function sumOf(rows: readonly { count: number }[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}

/** True where the first row of a list is in sight. */
function isInSight(kind: Kind): boolean {
  const row = shownSection(kind)?.querySelector('.rvm-row') ?? null;
  if (row === null) return false;
  const { left, top, width, height } = row.getBoundingClientRect();
  return row.contains(document.elementFromPoint(left + width / 2, top + Math.min(height / 2, 10)));
}

/** Row of unproven messages of a *webhook in*. */
function quarantineRow(row: QuarantineRow): TextRow {
  const { count, lastTime, lastReason, title, path, inboxTitle, inbox: inboxId, endpointId } = row;
  const cure = lastReason === undefined ? null : said(`shared.problem.${lastReason}`);
  const inbox = inboxTitle === null ? null : own('inbox', { folder: inboxTitle });
  const sentence = present([own('unproven', { count }), cure], '. ');
  return {
    key: `quarantine ${inboxId} ${endpointId}`,
    lines: [title ?? own('notDeployed', { path }), sentence, lastOf(row, inbox)],
    title: lastTime,
    actions: quarantineActions(row),
  };
}

/** Request to judge all messages of a *webhook in* again. */
function verifyAsked({ inbox, endpointId, lastId }: QuarantineRow): object {
  return { inbox, endpointId, lastId, action: 'verify' };
}

function quarantineActions(row: QuarantineRow): RowAction[] {
  const { inbox, endpointId, lastId, canVerify } = row;
  const actions = QUARANTINE_ACTIONS.filter((action) => action !== 'verify' || canVerify);
  return actions.map((action) => ({
    action,
    request: { path: 'quarantine', body: { inbox, endpointId, lastId, action } },
    canUndo: action === 'discard',
    done: (answer) => {
      if (action === 'verify') tellAccepted((answer as { accepted: number }).accepted);
    },
  }));
}

function tellAccepted(count: number): void {
  notify(own('accepted', { count }), { timeout: 4000 });
}

/** Row of a problem of a *webhook in*. */
function problemRow(row: ProblemRow): TextRow {
  const { webhook, kind, reason, title, text, count, lastTime } = row;
  const sentence = said(text, { count, stations: '' });
  return {
    // As unique as the tally itself: another node may have the same title and text.
    key: `problem ${webhook} ${kind} ${reason ?? ''}`,
    lines: [title, sentence, lastOf(row, own('times', { count }))],
    title: lastTime,
  };
}

/** Row of a path that no *webhook in* has, but messages were posted to. */
function unknownPathRow(row: UnknownPath): TextRow {
  const { path, port, count, lastTime } = row;
  const times = own('times', { count });
  const quiet = lastOf(row, port === null ? times : present([own('port', { port }), times], ' · '));
  return { key: `path ${port ?? ''} ${path}`, lines: [path, own('unknownPath'), quiet], title: lastTime };
}

/**
 * Row of a sandbox site that waits to be accepted.
 * @param accepted called after it was accepted
 */
function pendingRow({ cloud, customer, site, name }: PendingRow, accepted: () => void): TextRow {
  return {
    key: `pending ${cloud} ${customer}`,
    lines: [site, name, own('pendingHint')],
    actions: [
      {
        action: 'accept',
        request: { path: 'sandbox-sites', body: { cloud, customer } },
        done: () => {
          notify(own('siteAccepted', { site }), { timeout: 4000 });
          accepted();
        },
      },
    ],
  };
}

/** Time and sender of the last message, and a further text. */
function lastOf(row: { lastTime: string; lastAddress?: string }, further: string | null): string {
  const time = new Date(row.lastTime).toLocaleTimeString();
  return present([said('status.lastAlarm', { time }), row.lastAddress ?? null, further], ' · ');
}

/** Row of events whose *webhook in* is missing. Updates of the count do not reset the user's choice. */
function abandonedRow({ row, isGone }: ShownRow<AbandonedRow>, desk: ListContext): TemplateResult {
  const { inbox, endpointId, path, port, count, inboxTitle, takers } = row;
  const at = port === '' ? null : own('port', { port });
  const place = inboxTitle === null ? null : own('inbox', { folder: inboxTitle });
  const lines = linesOf(path, own('abandonedHint', { count }), present([at, place], ' · '));
  const nameOf = (action: string): string => own('actionOf', { action, of: path });
  const assign = async ({ currentTarget }: Event): Promise<void> => {
    const choice = (currentTarget as HTMLElement).parentElement?.querySelector('select');
    const body = { inbox, endpointId, to: choice?.value ?? '' };
    const answer = await desk.act<{ assigned: number }>('abandoned-events', body);
    if (answer !== undefined) notify(own('assigned', { count: answer.assigned }), { timeout: 4000 });
  };
  const options = repeat(
    takers,
    (taker) => taker.endpointId,
    (taker) => html`<option value=${taker.endpointId}>${nameIn(takers, taker)}</option>`,
  );
  const label = nameOf(own('assign'));
  const press = button(own('assign'), (event) => void assign(event), { action: 'assign', label });
  const choice = html`<select aria-label=${nameOf(own('assignTo'))}>
    ${options}
  </select>`;
  const actions =
    desk.mayAct && takers.length > 0 ? html`<div class="rvm-assign">${choice}${press}</div>` : nothing;
  return rowAround(
    isGone,
    html`<div>${lines}</div>
      ${actions}`,
  );
}

/** Adds the path where another node has the same title. */
function nameIn(takers: readonly Taker[], { title, path }: Taker): string {
  const isUnique = takers.filter((other) => other.title === title).length === 1;
  return isUnique ? title : `${title} (${path})`;
}

/**
 * Number of rows per list where there is space for a few in all: lists get one more row each in turn, beginning with the first.
 * @param counts number of rows of each list
 */
function sharesOf(counts: readonly number[], available: number): number[] {
  const shares = counts.map(() => 0);
  for (let left = available; left > 0;) {
    const before = left;
    for (const [index, count] of counts.entries()) {
      if (left === 0 || (shares[index] ?? 0) >= count) continue;
      shares[index] = (shares[index] ?? 0) + 1;
      left -= 1;
    }
    if (left === before) break;
  }
  return shares;
}
