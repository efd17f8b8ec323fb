import { matchAll, parseTerms } from '../../lib/text';
import type { UnknownPath } from '../../lib/webhook/unknown-paths';
import { notify } from '../support/editor/requests';
import { DeadLetterList } from './dead-letters.editor';
import type { EventRowOptions } from './event-list.editor';
import {
  type AbandonedRow,
  type Overview,
  type PendingRow,
  type ProblemRow,
  QUARANTINE_ACTIONS,
  type QuarantineRow,
  type SidebarRow,
  type Taker,
} from './overview';
import {
  confirm,
  type ListContext,
  linesOf,
  own,
  present,
  type RowAction,
  RowList,
  type RowView,
  said,
  Section,
  type Showing,
  type TextRow,
  TextRowView,
} from './rows.editor';

/** Kinds of tasks in order of display. */
const KINDS = ['problems', 'abandoned', 'quarantine', 'unknownPaths', 'dead', 'pending'] as const;
type Kind = (typeof KINDS)[number];
/** Kinds whose rows consist of text only. */
type TextKind = Exclude<Kind, 'abandoned' | 'dead'>;

/** Rows of all kinds together that are shown at first, where there are many: the events below must stay in sight. */
const FEW = 2;
/** Up to this number all rows are shown. */
const NOT_MANY = 4;

interface Shown {
  count: number;
  /**
   * Shows the rows.
   * @returns number of rows that wait
   */
  show: (showing: Showing) => number;
}

interface TasksOptions extends Pick<EventRowOptions, 'thumbnails' | 'opened' | 'hand'> {
  search: () => string;
  /** Called when a site of the sandbox was accepted: its cameras are there now. */
  accepted: () => void;
}

/** Tasks that need a person: a few rows of each kind, all after "show all". */
export class Tasks {
  readonly #sections: Record<Kind, Section>;
  readonly #lists: Record<TextKind, RowList<TextRow>>;
  readonly #abandoned: RowList<AbandonedRow, AbandonedRowView>;
  readonly #dead: DeadLetterList;
  readonly #verifyAll = $(
    '<button type="button" class="red-ui-button red-ui-button-small" data-action="verify-all">',
  );
  readonly #opened = new Set<Kind>();
  #quarantine: readonly QuarantineRow[] = [];
  #waiting: Partial<Record<Kind, number>> = {};

  constructor(
    private readonly desk: ListContext,
    private readonly options: TasksOptions,
  ) {
    this.#sections = byKind((kind) => new Section(kind, () => this.#toggle(kind)));
    for (const kind of KINDS) this.#sections[kind].toggle(false);
    const texts = (kind: TextKind): RowList<TextRow> =>
      new RowList<TextRow>(this.#sections[kind].list, {
        keyOf: ({ key }) => key,
        make: (row) => new TextRowView(row, desk),
      });
    this.#lists = {
      problems: texts('problems'),
      quarantine: texts('quarantine'),
      unknownPaths: texts('unknownPaths'),
      pending: texts('pending'),
    };
    this.#abandoned = new RowList(this.#sections.abandoned.list, {
      keyOf: ({ inbox, endpointId }) => `${inbox} ${endpointId}`,
      make: (row) => new AbandonedRowView(row, desk),
    });
    this.#dead = new DeadLetterList(this.#sections.dead.list, desk, options);
    this.#sections.dead.tools.append(this.#dead.bulk.element);
    this.#sections.quarantine.tools.append(this.#verifyAll.on('click', () => void this.#checkAll()));
  }

  get elements(): JQuery[] {
    return KINDS.map((kind) => this.#sections[kind].element);
  }

  /** Dead letters in the list. */
  get dead(): readonly SidebarRow[] {
    return this.#dead.shown;
  }

  search(search: string): void {
    this.#dead.feed.search(search);
  }

  /** Marks the cached rows as stale. */
  stale(): void {
    this.#dead.feed.stale();
  }

  /** Number of tasks of all kinds, independent of the search. */
  count(overview: Overview): number {
    const { problems, abandoned, quarantine, refused, unknownPaths, pending, dead, totals } = overview;
    const lists = [problems, abandoned, quarantine, refused, unknownPaths, pending];
    return lists.reduce((sum, { length }) => sum + length, Math.max(totals.dead, dead.length));
  }

  /** @returns number of rows that wait to be shown */
  show(overview: Overview): number {
    const kinds = this.#kinds(overview);
    this.#quarantine = overview.quarantine;
    this.#tellVerifyAll();
    const counts = KINDS.map((kind) => (this.#opened.has(kind) ? 0 : kinds[kind].count));
    const all = counts.reduce((sum, count) => sum + count, 0);
    const shares = sharesOf(counts, all > NOT_MANY ? FEW : all);
    this.#waiting = {};
    for (const [index, kind] of KINDS.entries()) this.#showKind(kind, kinds[kind], shares[index] ?? 0);
    return Object.values(this.#waiting).reduce((sum, count) => sum + count, 0);
  }

  /** True where the first problem of a *webhook in* is in sight, or there is none. */
  get areProblemsInSight(): boolean {
    return (['problems', 'quarantine'] as const).every(
      (kind) => (this.#waiting[kind] ?? 0) === 0 && isInSight(this.#sections[kind]),
    );
  }

  #kinds(overview: Overview): Record<Kind, Shown> {
    const { problems, abandoned, quarantine, refused, unknownPaths, pending } = overview;
    const words = parseTerms(this.options.search());
    const texts = (kind: TextKind, all: readonly TextRow[]): Shown => {
      const rows = all.filter(({ lines }) => matchAll(lines, words));
      return { count: rows.length, show: (showing) => this.#lists[kind].show(rows, showing) };
    };
    return {
      problems: texts('problems', problems.map(problemRow)),
      abandoned: { count: abandoned.length, show: (showing) => this.#abandoned.show(abandoned, showing) },
      quarantine: texts('quarantine', [...quarantine.map(quarantineRow), ...refused.map(problemRow)]),
      unknownPaths: texts('unknownPaths', unknownPaths.map(unknownPathRow)),
      dead: { count: this.#dead.count(overview), show: (showing) => this.#dead.show(overview, showing) },
      pending: texts(
        'pending',
        pending.map((row) => pendingRow(row, this.options.accepted)),
      ),
    };
  }

  #showKind(kind: Kind, { count, show }: Shown, share: number): void {
    const section = this.#sections[kind];
    const hold = this.desk.holdOf(section.element);
    const isOpened = this.#opened.has(kind);
    const waiting = show({ hold, most: isOpened ? Infinity : share });
    if (waiting > 0) this.#waiting[kind] = waiting;
    section.count(count.toLocaleString());
    if (hold === 'all') return;
    // A new section would move the rows the user looks at.
    section.toggle(count > 0 && (hold === 'none' || section.isShown));
    section.more(this.#moreText(kind, count, share), share === 0 && !isOpened);
  }

  #moreText(kind: Kind, count: number, share: number): string {
    if (!this.#opened.has(kind))
      return count > share ? own('bar.all', { count: count.toLocaleString() }) : '';
    if (kind === 'dead' && this.#dead.hasMore) return own('bar.more');
    return count > 1 ? own('bar.fewer') : '';
  }

  #toggle(kind: Kind): void {
    const isOpened = this.#opened.has(kind);
    const isMore = kind === 'dead' && (!isOpened || this.#dead.hasMore);
    if (isMore || !isOpened) this.#opened.add(kind);
    else this.#opened.delete(kind);
    if (isMore) this.#dead.feed.more();
    else if (kind === 'dead') this.#dead.feed.fold();
    this.desk.redraw();
  }

  #tellVerifyAll(): void {
    const rows = this.#quarantine.filter(({ canVerify }) => canVerify);
    const text = own('bulk.verify', { count: sumOf(rows).toLocaleString() });
    if (this.#verifyAll.text() !== text) this.#verifyAll.text(text);
    this.#verifyAll.toggle(this.desk.mayAct && rows.length > 1);
  }

  async #checkAll(): Promise<void> {
    const rows = this.#quarantine.filter(({ canVerify }) => canVerify);
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

/** True where the first row of a list is in sight, or no list is shown. */
function isInSight({ list, isShown }: Section): boolean {
  if (!isShown) return true;
  const [row] = list.children('.rvm-row').get();
  if (row === undefined) return false;
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

/**
 * Row of events whose *webhook in* is missing. Its element stays the same as long as it is listed, so that updates of the count
 * do not reset the user's choice.
 */
class AbandonedRowView implements RowView<AbandonedRow> {
  readonly #element = $('<div class="rvm-row">');
  readonly #facts = $('<div>');
  readonly #choice = $('<select>');
  readonly #actions = $('<div class="rvm-assign">');
  #offered = '';

  constructor(
    row: AbandonedRow,
    private readonly desk: ListContext,
  ) {
    const nameOf = (action: string): string => own('actionOf', { action, of: row.path });
    this.#choice.attr('aria-label', nameOf(own('assignTo')));
    const button = $('<button type="button" class="red-ui-button red-ui-button-small">')
      .text(own('assign'))
      .attr({ 'data-action': 'assign', 'aria-label': nameOf(own('assign')) })
      .on('click', () => void this.#assign(row));
    this.#actions.append(this.#choice, button);
    this.#element.append(this.#facts, this.#actions);
  }

  show({ path, port, count, inboxTitle, takers }: AbandonedRow): JQuery {
    const at = port === '' ? null : own('port', { port });
    const inbox = inboxTitle === null ? null : own('inbox', { folder: inboxTitle });
    const lines = linesOf(path, own('abandonedHint', { count }), present([at, inbox], ' · '));
    this.#facts.empty().append(lines);
    this.#actions.toggle(this.desk.mayAct && takers.length > 0);
    this.#offer(takers);
    return this.#element;
  }

  async #assign({ inbox, endpointId }: AbandonedRow): Promise<void> {
    const body = { inbox, endpointId, to: String(this.#choice.val()) };
    const answer = await this.desk.act<{ assigned: number }>('abandoned-events', body);
    if (answer !== undefined) notify(own('assigned', { count: answer.assigned }), { timeout: 4000 });
  }

  /** The choice is retained while it is available. */
  #offer(takers: readonly Taker[]): void {
    const offered = JSON.stringify(takers);
    if (offered === this.#offered) return;
    this.#offered = offered;
    const chosen = this.#choice.val();
    const options = takers.map((taker) => $('<option>').val(taker.endpointId).text(nameIn(takers, taker)));
    this.#choice.empty().append(options);
    if (takers.some(({ endpointId }) => endpointId === chosen)) this.#choice.val(chosen ?? '');
  }
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
