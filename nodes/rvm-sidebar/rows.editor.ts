import { AskError, postOnLeaving, notify } from '../support/editor/requests';

const TEXTS = '@rvm/node-red-remote-monitoring/rvm-sidebar:';

/** A text of the package. */
export function said(key: string, values?: Record<string, unknown>): string {
  return RED._(`${TEXTS}${key}`, values);
}

/** A text of the sidebar. */
export function own(key: string, values?: Record<string, unknown>): string {
  return said(`rvm-sidebar.${key}`, values);
}

/** Joins the non-empty parts in one line. */
export function present(parts: readonly (string | null)[], between: string): string {
  return parts.filter((part) => part !== null && part !== '').join(between);
}

/** Lines of an entry, without empty ones. */
export function linesOf(...lines: [what: string, where: string, quiet: string]): JQuery[] {
  const classes = ['rvm-what', 'rvm-where', 'rvm-quiet'];
  const shown = lines.map((text, index) =>
    $('<div>')
      .addClass(classes[index] ?? '')
      .text(text),
  );
  return shown.filter((line) => line.text() !== '');
}

/** Placeholder of an empty list. */
export function nothing(): JQuery {
  return $('<div class="rvm-quiet">').text(own('none'));
}

/** Text of a failed request. */
export function textOf(failure: unknown): string {
  if (failure instanceof AskError) return failure.message;
  throw failure;
}

/** An action of a row. */
export interface RowAction {
  /** Key of its text. */
  action: string;
  request: RuntimeRequest;
  /** True where the action is sent only after the time for undo. */
  canUndo?: boolean;
  /** Called with the answer of the runtime. */
  done?: (answer: unknown) => void;
}

/** The buttons of a row, each labelled with the name of the row, and the undo of a discard. */
export class RowActions {
  readonly element = $('<div class="rvm-actions">');
  /** By action name. */
  #actions = new Map<string, RowAction>();
  #name = '';
  #drawn = '';

  constructor(
    private readonly key: string,
    private readonly desk: ListContext,
  ) {}

  /** @param name name of the row for users */
  show(actions: readonly RowAction[], name: string): JQuery {
    this.#actions = new Map(this.desk.mayAct ? actions.map((action) => [action.action, action]) : []);
    this.#name = name;
    this.#draw();
    return this.element;
  }

  readonly #draw = (): void => {
    const state = this.desk.discards.stateOf(this.key);
    const drawn = JSON.stringify([state ?? '', this.#name, ...this.#actions.keys()]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    if (state === 'sent') {
      // An element with the focus keeps it until the row is removed.
      this.element.find('button').attr('aria-disabled', 'true');
      return;
    }
    const hadFocus = this.element.is(':focus-within');
    this.element.toggleClass('rvm-undo', state === 'offered');
    this.element.empty().append(state === 'offered' ? this.#wayBack() : this.#buttons());
    if (hadFocus) this.element.find('button').last().trigger('focus');
  };

  #buttons(): JQuery[] {
    return [...this.#actions.values()].map((action) =>
      this.#button(action.action).on('click', () => void this.#do(action.action)),
    );
  }

  #wayBack(): JQuery[] {
    const undo = this.#button('undo').on('click', () => {
      this.desk.discards.undo(this.key);
      this.#draw();
    });
    return [$('<span role="status">').text(own('discarded')), undo];
  }

  #button(action: string): JQuery {
    return $('<button type="button" class="red-ui-button red-ui-button-small">')
      .text(own(action))
      .attr({
        'data-action': action,
        'aria-label': own('actionOf', { action: own(action), of: this.#name }),
      });
  }

  async #do(name: string): Promise<void> {
    const action = this.#actions.get(name);
    if (action === undefined) return;
    const { request, canUndo = false, done } = action;
    if (canUndo) {
      this.desk.discards.begin(this.key, request, this.#draw);
      this.#draw();
      return;
    }
    const answer = await this.desk.act(request.path, request.body);
    if (answer !== undefined) done?.(answer);
  }
}

/**
 * Makes an element a button that opens something by click, Enter and space.
 * @param opens a dialog elsewhere, or a part below the element
 */
export function makeOpener(
  element: JQuery,
  label: string,
  open: (opener: HTMLElement) => void,
  opens: 'dialog' | 'below' = 'dialog',
): JQuery {
  const act = (): void => {
    const [opener] = element.get();
    if (opener !== undefined) open(opener);
  };
  return element
    .addClass('rvm-opener')
    .attr({ role: 'button', tabindex: 0, 'aria-expanded': 'false', title: label })
    .attr(opens === 'dialog' ? { 'aria-haspopup': 'dialog' } : {})
    .on('click', act)
    .on('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      // The editor uses these keys itself.
      event.preventDefault();
      event.stopPropagation();
      act();
    });
}

/** A section of the sidebar: heading with a count, actions for all rows, the list, and the button for more rows. */
export class Section {
  readonly element = $('<section>');
  readonly list: JQuery;
  readonly tools = $('<div class="rvm-tools">');
  readonly #heading: JQuery;
  readonly #count = $('<span class="rvm-count">');
  #isEmpty = false;
  readonly #more = $('<button type="button" class="red-ui-button red-ui-button-small rvm-more">');

  /** @param name used for the class of the list and the heading */
  constructor(
    readonly name: string,
    more: () => void = () => undefined,
  ) {
    this.list = $(`<div class="rvm-${name}">`);
    this.#heading = $('<h3 tabindex="-1">')
      .attr('id', `rvm-heading-${name}`)
      .append($('<span>').text(own(name)), ' ', this.#count);
    this.element.attr('aria-labelledby', `rvm-heading-${name}`);
    this.#more.on('click', more).hide();
    this.element.append(this.#heading, this.tools, this.list, this.#more);
  }

  /** Shows the count, and a further text. */
  count(text: string, further = ''): void {
    const shown = further === '' ? text : `${text} · ${further}`;
    if (this.#count.text() !== shown) this.#count.text(shown);
  }

  /**
   * Sets the text of the button for more; '' hides it.
   * @param isEmpty true where no rows are shown so far
   */
  more(text: string, isEmpty = false): void {
    const hadFocus = this.#more.is(':focus');
    if (isEmpty !== this.#isEmpty) {
      this.#isEmpty = isEmpty;
      this.list.toggle(!isEmpty);
      if (isEmpty) this.#heading.append(this.#more);
      else this.element.append(this.#more);
    }
    this.#more.toggle(text !== '');
    if (text !== '' && this.#more.text() !== text) this.#more.text(text);
    if (hadFocus) this.#keepFocus(text === '' ? this.#heading : this.#more);
  }

  /** An element that is moved or hidden loses the focus. */
  #keepFocus(container: JQuery): void {
    if (!container.is(':focus')) container.get(0)?.focus({ preventScroll: true });
  }

  toggle(isThere: boolean): void {
    this.element.toggle(isThere);
  }

  get isShown(): boolean {
    return this.element.css('display') !== 'none';
  }
}

/** A row of text with actions. */
export interface TextRow {
  /** Unique among all rows of the sidebar. */
  key: string;
  lines: [what: string, where: string, quiet: string];
  title?: string;
  actions?: readonly RowAction[];
}

export class TextRowView {
  readonly #element = $('<div class="rvm-row">');
  readonly #facts = $('<div>');
  readonly #actions: RowActions;
  #shown = '';

  constructor({ key }: TextRow, desk: ListContext) {
    this.#actions = new RowActions(key, desk);
    this.#element.append(this.#facts, this.#actions.element);
  }

  show({ lines, title = '', actions = [] }: TextRow): JQuery {
    this.#actions.show(actions, present([lines[0], lines[1]], ', '));
    const shown = JSON.stringify(lines);
    this.#element.attr('title', title);
    if (shown === this.#shown) return this.#element;
    this.#shown = shown;
    this.#facts.empty().append(linesOf(...lines));
    return this.#element;
  }
}

/**
 * Asks the user to confirm an action.
 * @param yes label of the confirming button
 */
export function confirm(question: string, yes: string): Promise<boolean> {
  const before = document.activeElement;
  return new Promise((resolve) => {
    const answered = (answer: boolean) => (): void => {
      request.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
      resolve(answer);
    };
    const request = notify(question, {
      type: 'warning',
      modal: true,
      fixed: true,
      buttons: [
        { text: RED._('common.label.cancel'), class: 'rvm-ask-no', click: answered(false) },
        { text: yes, class: 'primary rvm-ask-yes', click: answered(true) },
      ],
    });
    requestAnimationFrame(() => $('.rvm-ask-no').last().trigger('focus'));
  });
}

/** Scrolls the sidebar so that the element is visible as a whole, or from its top, below the fixed bar. */
export function scrollToSee(element: JQuery): void {
  const [sidebar] = element.closest('.rvm-sidebar').get();
  const [part] = element.get();
  if (sidebar === undefined || part === undefined) return;
  const { top, bottom } = part.getBoundingClientRect();
  const view = sidebar.getBoundingClientRect();
  const covered = $(sidebar).find('.rvm-top').outerHeight() ?? 0;
  const hidden = Math.min(bottom - view.bottom, top - view.top - covered);
  if (hidden > 0) sidebar.scrollTop += hidden;
}

/**
 * Decides whether rows must stay in place: while the pointer is over them, the keyboard focus is among them, or the user has
 * scrolled past them.
 */
export class UpdateFreeze {
  /** After a mouse click the element keeps the focus until the next click; that alone freezes nothing. */
  #byKeyboard = true;

  /**
   * @param scroll the scrolling element
   * @param body the part with the rows
   * @param top the fixed bar
   */
  constructor(
    private readonly scroll: JQuery,
    private readonly body: JQuery,
    private readonly top: JQuery,
  ) {
    scroll.on('keydown', () => (this.#byKeyboard = true));
    scroll.on('pointerdown', () => (this.#byKeyboard = false));
  }

  of(section: JQuery): Holding {
    if (this.body.is(':hover') || this.#isAmong()) return 'all';
    return this.#isPast(section) ? 'new' : 'none';
  }

  #isAmong(): boolean {
    const focused = this.body.find('.rvm-row :focus');
    return focused.length > 0 && (this.#byKeyboard || focused.is('select, input, textarea'));
  }

  /** The position of a hidden section is unknown, so it counts as passed. */
  #isPast(section: JQuery): boolean {
    if ((this.scroll.scrollTop() ?? 0) <= 0) return false;
    const [[element], [top]] = [section.get(), this.top.get()];
    if (element === undefined || top === undefined || !section.is(':visible')) return true;
    return element.getBoundingClientRect().top < top.getBoundingClientRect().bottom - 1;
  }
}

/** Milliseconds in which a discard can be undone. */
const UNDO_MS = 10_000;

/** A request to the runtime, below `rvm/`. */
interface RuntimeRequest {
  path: string;
  body: object;
}

interface Discard {
  request: RuntimeRequest;
  timer: number;
  isSent: boolean;
}

/** Discards that can be undone: each is sent to the runtime only after that time, or when the page is closed. */
export class UndoableActions {
  readonly #all = new Map<string, Discard>();

  /** @param send sends the request; it reports a failure to the user itself */
  constructor(private readonly send: (request: RuntimeRequest) => Promise<unknown>) {
    window.addEventListener('pagehide', () => this.#leave());
  }

  /** @param changed called when undo is no longer possible, and when the runtime has answered */
  begin(key: string, request: RuntimeRequest, changed: () => void): void {
    const timer = window.setTimeout(() => void this.#end(key, changed), UNDO_MS);
    this.#all.set(key, { request, timer, isSent: false });
  }

  undo(key: string): void {
    const discard = this.#all.get(key);
    if (discard === undefined || discard.isSent) return;
    window.clearTimeout(discard.timer);
    this.#all.delete(key);
  }

  /** `offered`: can be undone; undefined where nothing was discarded. */
  stateOf(key: string): 'offered' | 'sent' | undefined {
    const discard = this.#all.get(key);
    return discard && (discard.isSent ? 'sent' : 'offered');
  }

  async #end(key: string, changed: () => void): Promise<void> {
    const discard = this.#all.get(key);
    if (discard === undefined) return;
    discard.isSent = true;
    changed();
    await this.send(discard.request);
    this.#all.delete(key);
    changed();
  }

  #leave(): void {
    for (const { request, timer, isSent } of this.#all.values()) {
      window.clearTimeout(timer);
      if (!isSent) postOnLeaving(request.path, request.body);
    }
    this.#all.clear();
  }
}

/** Shared context of the lists in the sidebar. */
export interface ListContext {
  /** True where the user has the permission to act. */
  mayAct: boolean;
  discards: UndoableActions;
  /** Sends a request and refreshes the lists. Resolves with undefined after a failure, which is reported to the user. */
  act<Answer>(path: string, body: object): Promise<Answer | undefined>;
  /** Marks the cached rows as stale. */
  stale(): void;
  /** Which changes of a section must not be shown now. */
  holdOf(section: JQuery): Holding;
  /** Redraws all at the user's request, even while rows are frozen. */
  redraw(): void;
}

/** One row of a list. Its element stays the same as long as it is listed, so that it keeps the focus. */
export interface RowView<Row> {
  show(row: Row): JQuery;
}

interface RowListOptions<Row, View extends RowView<Row>> {
  keyOf: (row: Row) => string;
  make: (row: Row) => View;
  /** True where a row that is no longer listed is gone for good, rather than outside of the list. Default: always. */
  isGone?: (row: Row) => boolean;
}

/** `all`: no row may move; `new`: no row may be added; `none`: nothing is frozen. */
type Holding = 'all' | 'new' | 'none';

export interface Showing {
  hold: Holding;
  /** Maximum of rows; default all. */
  most?: number;
  /** Elements behind the rows. */
  further?: readonly JQuery[];
}

interface Shown<Row, View> {
  view: View;
  element: JQuery;
  row: Row;
}

const GONE = 'rvm-gone';

/**
 * A list whose rows do not move while frozen: new rows wait, listed rows are updated in place, and rows that are gone stay,
 * greyed and inactive.
 */
export class RowList<Row, View extends RowView<Row> = RowView<Row>> {
  /** By key, in order of display. */
  #shown = new Map<string, Shown<Row, View>>();
  /** Keys of all rows when the order was last updated. */
  #known: ReadonlySet<string> = new Set();

  constructor(
    readonly element: JQuery,
    private readonly options: RowListOptions<Row, View>,
  ) {
    const [list] = element.get();
    for (const name of ['click', 'keydown']) list?.addEventListener(name, keepFromGone, true);
  }

  /** @returns number of rows that wait to be shown */
  show(rows: readonly Row[], { hold, most = Infinity, further = [] }: Showing): number {
    if (hold === 'all') return this.#update(rows);
    if (hold === 'none') this.#known = new Set(rows.map(this.options.keyOf));
    const before = [...this.#shown.keys()];
    const focused = this.#focused();
    const known = rows.filter((row) => this.#known.has(this.options.keyOf(row)));
    const shown = known.slice(0, most).map((row) => [this.options.keyOf(row), this.#shownOf(row)] as const);
    this.#shown = new Map(shown);
    if (focused !== undefined && !this.#shown.has(focused)) this.#moveFocus(before, focused);
    const elements = [...[...this.#shown.values()].map(({ element }) => element), ...further];
    reconcileChildren(this.element, elements.length > 0 ? elements : [nothing()]);
    return rows.length - known.length;
  }

  views(): View[] {
    return [...this.#shown.values()].map(({ view }) => view);
  }

  #shownOf(row: Row): Shown<Row, View> {
    const view = this.#shown.get(this.options.keyOf(row))?.view ?? this.options.make(row);
    const element = view.show(row);
    markGone(element, false);
    return { view, element, row };
  }

  #update(rows: readonly Row[]): number {
    const now = new Map(rows.map((row) => [this.options.keyOf(row), row]));
    for (const [key, shown] of this.#shown) {
      const row = now.get(key);
      if (row !== undefined) this.#shown.set(key, this.#shownOf(row));
      else if (this.options.isGone?.(shown.row) ?? true) markGone(shown.element, true);
    }
    const focused = this.#focused();
    if (focused !== undefined && this.#isGone(focused)) this.#moveFocus([...this.#shown.keys()], focused);
    return [...now.keys()].filter((key) => !this.#known.has(key)).length;
  }

  #focused(): string | undefined {
    return [...this.#shown].find(([, { element }]) => element.is(':focus-within'))?.[0];
  }

  #isGone(key: string): boolean {
    return this.#shown.get(key)?.element.hasClass(GONE) ?? true;
  }

  /** Moves the focus to the same button of the next row that is still there, or of the previous one. */
  #moveFocus(order: readonly string[], from: string): void {
    const action = $(document.activeElement ?? document.body).attr('data-action');
    const at = order.indexOf(from);
    const next = [...order.slice(at + 1), ...order.slice(0, at).reverse()].find((key) => !this.#isGone(key));
    const row = next === undefined ? undefined : this.#shown.get(next)?.element;
    const same = row?.find(`[data-action="${action ?? ''}"]`) ?? $();
    const others = [
      row?.find('.rvm-actions button').last(),
      row?.find('button, [tabindex="0"], summary, select'),
    ];
    const container = [same, ...others].find((each) => each !== undefined && each.length > 0) ?? $();
    // The element may become visible only now.
    requestAnimationFrame(() =>
      (container.get(0) ?? this.element.closest('[tabindex]').get(0))?.focus({ preventScroll: true }),
    );
  }
}

function markGone(element: JQuery, isGone: boolean): void {
  if (element.hasClass(GONE) === isGone) return;
  element.toggleClass(GONE, isGone);
  // Not `disabled`: a disabled button would lose the focus.
  element.find('button, select, [role="button"]').attr('aria-disabled', String(isGone));
}

function keepFromGone(event: Event): void {
  const isKey = event instanceof KeyboardEvent && event.key !== 'Enter' && event.key !== ' ';
  if (isKey || !(event.target instanceof Element) || event.target.closest(`.${GONE}`) === null) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Makes these elements the children of a list, in order. Elements already in place are not touched, so they keep the focus. */
export function reconcileChildren(list: JQuery, wanted: readonly JQuery[]): void {
  const [parent] = list.get();
  if (parent === undefined) return;
  const elements = wanted.flatMap((each) => each.get());
  // Including text nodes.
  list.contents().not(elements).remove();
  for (const [index, element] of elements.entries()) {
    const there = parent.children[index] ?? null;
    if (there !== element) parent.insertBefore(element, there);
  }
}
