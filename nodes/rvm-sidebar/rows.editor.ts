import { repeat } from 'lit/directives/repeat.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
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
export function linesOf(...lines: [what: string, where: string, quiet: string]): unknown {
  const classes = ['rvm-what', 'rvm-where', 'rvm-quiet'];
  return lines.map((text, index) => text && html`<div class=${classes[index]}>${text}</div>`);
}

/** Placeholder of an empty list. */
export function noneYet(): TemplateResult {
  return html`<div class="rvm-quiet">${own('none')}</div>`;
}

/** Text of a failed request. */
export function textOf(failure: unknown): string {
  if (failure instanceof AskError) return failure.message;
  throw failure;
}

interface ButtonOptions {
  /** What it is found by. */
  action?: string;
  label?: string;
  title?: string;
  /** Which id it copies. */
  copies?: string;
  isDisabled?: boolean;
  /** True where nothing happens any more, but the button keeps the focus. */
  isSpent?: boolean;
  /** Class beside its own. */
  name?: string;
}

export function button(
  content: unknown,
  press: (event: Event) => void,
  { action, label, title, copies, isDisabled = false, isSpent = false, name = '' }: ButtonOptions = {},
): TemplateResult {
  return html`<button
    type="button"
    class="red-ui-button red-ui-button-small ${name}"
    data-action=${action ?? nothing}
    data-copies=${copies ?? nothing}
    aria-label=${label ?? nothing}
    title=${title ?? nothing}
    aria-disabled=${isSpent ? 'true' : nothing}
    ?disabled=${isDisabled}
    @click=${press}
  >
    ${content}
  </button>`;
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

/**
 * The buttons of a row, each labelled with the name of the row, or the undo of a discard.
 * @param key unique among all rows of the sidebar
 * @param name name of the row for users
 */
export function rowActions(
  key: string,
  actions: readonly RowAction[],
  name: string,
  desk: ListContext,
): TemplateResult {
  const { discards } = desk;
  const state = discards.stateOf(key);
  const labelled = (action: string, press: () => void): TemplateResult =>
    button(own(action), press, {
      action,
      label: own('actionOf', { action: own(action), of: name }),
      isSpent: state === 'sent',
    });
  const begin = async ({ request, canUndo = false, done }: RowAction): Promise<void> => {
    if (canUndo) return discards.begin(key, request);
    const answer = await desk.act(request.path, request.body);
    if (answer !== undefined) done?.(answer);
  };
  const buttons = (desk.mayAct ? actions : []).map((each) => labelled(each.action, () => void begin(each)));
  return state === undefined
    ? html`<div class="rvm-actions">${buttons}</div>`
    : html`<div class="rvm-actions rvm-undo">
        <span role="status">${own('discarded')}</span>${labelled('undo', () => discards.undo(key))}
      </div>`;
}

interface OpenerOptions {
  /** Class beside its own. */
  name?: string;
  /** Absent where it opens a dialog elsewhere; else whether what it opens is shown below. */
  isOpen?: boolean;
}

/** A button that opens something by click, Enter and space. */
export function opener(
  content: unknown,
  label: string,
  open: (opener: HTMLElement) => void,
  { name = '', isOpen }: OpenerOptions = {},
): TemplateResult {
  const act = ({ currentTarget }: Event): void => open(currentTarget as HTMLElement);
  const byKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    // The editor uses these keys itself.
    event.preventDefault();
    event.stopPropagation();
    act(event);
  };
  return html`<div
    class="rvm-opener ${name}"
    role="button"
    tabindex="0"
    title=${label}
    aria-expanded=${isOpen ?? false}
    aria-haspopup=${isOpen === undefined ? 'dialog' : nothing}
    @click=${act}
    @keydown=${byKey}
  >
    ${content}
  </div>`;
}

interface SectionParts {
  /** Used for the class of the list and the heading. */
  name: string;
  count?: string;
  /** Actions for all rows. */
  tools?: unknown;
  list: unknown;
  /** Text of the button for more; '' where there is none. */
  more?: string;
  /** Called by that button. */
  unfold?: () => void;
  /** True where no rows are shown so far: the button stands in the heading. */
  isFolded?: boolean;
}

/** A section of the sidebar: heading with a count, actions for all rows, the list, and the button for more rows. */
export function section(parts: SectionParts): TemplateResult {
  const { name, count = '', tools = nothing, list, more = '', unfold, isFolded = false } = parts;
  const unfolder = more === '' ? nothing : button(more, () => unfold?.(), { name: 'rvm-more' });
  const heading = html`<span>${own(name)}</span> <span class="rvm-count">${count}</span>`;
  return html`<section aria-labelledby="rvm-heading-${name}">
    <h3 tabindex="-1" id="rvm-heading-${name}">${heading}${isFolded ? unfolder : nothing}</h3>
    <div class="rvm-tools">${tools}</div>
    <div class="rvm-${name}" ?hidden=${isFolded}>${list}</div>
    ${isFolded ? nothing : unfolder}
  </section>`;
}

/** A row of text with actions. */
export interface TextRow {
  /** Unique among all rows of the sidebar. */
  key: string;
  lines: [what: string, where: string, quiet: string];
  title?: string;
  actions?: readonly RowAction[];
}

export function textRow({ row, isGone }: ShownRow<TextRow>, desk: ListContext): TemplateResult {
  const { key, lines, title = '', actions = [] } = row;
  const buttons = rowActions(key, actions, present([lines[0], lines[1]], ', '), desk);
  return rowAround(
    isGone,
    html`<div>${linesOf(...lines)}</div>
      ${buttons}`,
    { title },
  );
}

/** @param facts of the row: tooltip, state, and a class beside its own */
export function rowAround(
  isGone: boolean,
  content: unknown,
  { title, state, name = '' }: { title?: string; state?: string; name?: string } = {},
): TemplateResult {
  // Not `disabled`: a disabled button would lose the focus.
  return html`<div
    class="rvm-row ${name} ${isGone ? GONE : ''}"
    title=${title ?? nothing}
    data-state=${state ?? nothing}
    aria-disabled=${isGone ? 'true' : nothing}
  >
    ${content}
  </div>`;
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
export function scrollToSee(part: HTMLElement): void {
  const sidebar = part.closest('.rvm-sidebar');
  if (sidebar === null) return;
  const { top, bottom } = part.getBoundingClientRect();
  const view = sidebar.getBoundingClientRect();
  const covered = sidebar.querySelector<HTMLElement>('.rvm-top')?.offsetHeight ?? 0;
  const hidden = Math.min(bottom - view.bottom, top - view.top - covered);
  if (hidden > 0) sidebar.scrollTop += hidden;
}

/** The section of this name, where it is shown. */
export function shownSection(name: string): HTMLElement | undefined {
  return document.getElementById(`rvm-heading-${name}`)?.closest('section') ?? undefined;
}

/** `all`: no row may move; `new`: no row may be added; `none`: nothing is frozen. */
export type Holding = 'all' | 'new' | 'none';

/**
 * Decides whether rows must stay in place: while the pointer is over them, the keyboard focus is among them, or the user has
 * scrolled past them.
 */
export class UpdateFreeze {
  /** After a mouse click the element keeps the focus until the next click; that alone freezes nothing. */
  #byKeyboard = true;

  /** @param sidebar the scrolling element */
  constructor(private readonly sidebar: HTMLElement) {
    sidebar.addEventListener('keydown', () => (this.#byKeyboard = true));
    sidebar.addEventListener('pointerdown', () => (this.#byKeyboard = false));
  }

  /** @param name of a section */
  of(name: string): Holding {
    if (this.sidebar.querySelector('.rvm-body:hover') !== null || this.#isAmong()) return 'all';
    return this.#isPast(name) ? 'new' : 'none';
  }

  #isAmong(): boolean {
    const focused = this.sidebar.querySelector('.rvm-row :focus');
    return focused !== null && (this.#byKeyboard || focused.matches('select, input, textarea'));
  }

  /** The position of a section that is not shown is unknown, so it counts as passed. */
  #isPast(name: string): boolean {
    if (this.sidebar.scrollTop <= 0) return false;
    const [element, bar] = [shownSection(name), this.sidebar.querySelector('.rvm-top')];
    if (element === undefined || bar === null) return true;
    return element.getBoundingClientRect().top < bar.getBoundingClientRect().bottom - 1;
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

  /**
   * @param send sends the request; it reports a failure to the user itself
   * @param changed called when one begins, cannot be undone any more, and ends
   */
  constructor(
    private readonly send: (request: RuntimeRequest) => Promise<unknown>,
    private readonly changed: () => void,
  ) {
    window.addEventListener('pagehide', () => this.#leave());
  }

  begin(key: string, request: RuntimeRequest): void {
    const timer = window.setTimeout(() => void this.#end(key), UNDO_MS);
    this.#all.set(key, { request, timer, isSent: false });
    this.changed();
  }

  undo(key: string): void {
    const discard = this.#all.get(key);
    if (discard === undefined || discard.isSent) return;
    window.clearTimeout(discard.timer);
    this.#all.delete(key);
    this.changed();
  }

  /** `offered`: can be undone; undefined where nothing was discarded. */
  stateOf(key: string): 'offered' | 'sent' | undefined {
    const discard = this.#all.get(key);
    return discard && (discard.isSent ? 'sent' : 'offered');
  }

  async #end(key: string): Promise<void> {
    const discard = this.#all.get(key);
    if (discard === undefined) return;
    discard.isSent = true;
    this.changed();
    await this.send(discard.request);
    this.#all.delete(key);
    this.changed();
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
  readonly mayAct: boolean;
  discards: UndoableActions;
  /** Sends a request and refreshes the lists. Resolves with undefined after a failure, which is reported to the user. */
  act<Answer>(path: string, body: object): Promise<Answer | undefined>;
  /** Marks the cached rows as stale. */
  stale(): void;
  /** Which changes of a section must not be shown now. */
  holdOf(section: string): Holding;
  /** Draws what has changed here, in the rows that are shown. */
  draw(): void;
  /** Shows the newest rows at the user's request, even while rows are frozen. */
  redraw(): void;
}

export interface ShownRow<Row> {
  key: string;
  row: Row;
  isGone: boolean;
}

const GONE = 'rvm-gone';

/**
 * Rows that do not move while frozen: new rows wait, listed rows are updated in place, and rows that are gone stay, greyed and
 * inactive.
 */
export class FrozenRows<Row> {
  /** In order of display. */
  #shown: readonly ShownRow<Row>[] = [];
  /** Keys of all rows when the order was last updated. */
  #known: ReadonlySet<string> = new Set();

  /** @param isGone true where a row that is no longer listed is gone for good, rather than outside of the list */
  constructor(
    private readonly keyOf: (row: Row) => string,
    private readonly isGone: (row: Row) => boolean = () => true,
  ) {}

  get rows(): readonly Row[] {
    return this.#shown.map(({ row }) => row);
  }

  /**
   * @param most maximum of rows
   * @returns number of rows that wait to be shown
   */
  take(rows: readonly Row[], hold: Holding, most = Infinity): number {
    const all = rows.map((row) => ({ key: this.keyOf(row), row, isGone: false }));
    if (hold === 'none') this.#known = new Set(all.map(({ key }) => key));
    const known = all.filter(({ key }) => this.#known.has(key));
    if (hold === 'all') {
      const now = new Map(all.map((each) => [each.key, each]));
      this.#shown = this.#shown.map(
        (each) => now.get(each.key) ?? { ...each, isGone: each.isGone || this.isGone(each.row) },
      );
    } else this.#shown = known.slice(0, most);
    return all.length - known.length;
  }

  /** @param further what stands behind the rows */
  draw(draw: (shown: ShownRow<Row>) => TemplateResult, further?: TemplateResult): unknown {
    if (this.#shown.length === 0 && further === undefined) return noneYet();
    return html`${repeat(this.#shown, ({ key }) => key, draw)}${further ?? nothing}`;
  }
}

/** Listens to clicks and keys before all others: nothing can be done in a row that is gone. */
export function keepFromGone(event: Event): void {
  const isKey = event instanceof KeyboardEvent && event.key !== 'Enter' && event.key !== ' ';
  if (isKey || !(event.target instanceof Element) || event.target.closest(`.${GONE}`) === null) return;
  event.preventDefault();
  event.stopPropagation();
}

/**
 * Draws the sidebar. If what had the focus is gone then, what took its place gets it: in the row, or in the section; or else the
 * same button of the next row that is still there, or of the previous one.
 */
export function drawKeepingFocus(sidebar: HTMLElement, draw: () => void): void {
  const focused = document.activeElement;
  if (!(focused instanceof HTMLElement) || !sidebar.contains(focused)) return draw();
  const [row, details] = [focused.closest('.rvm-row'), focused.closest<HTMLElement>('.rvm-opened')];
  const part = focused.closest('section');
  const order = [...(row?.parentElement?.children ?? [])];
  draw();
  if (row !== null && !isThere(row)) {
    const at = order.indexOf(row);
    const next = [...order.slice(at + 1), ...order.slice(0, at).reverse()].find(isThere);
    const same = `[data-action="${focused.dataset.action ?? ''}"]`;
    const others = ['.rvm-actions button:last-child', 'button, [tabindex="0"], summary, select'];
    focusFirst(next, [same, ...others], sidebar);
  } else if (!focused.isConnected) {
    if (details?.isConnected === true) details.focus({ preventScroll: true });
    else if (row === null) focusFirst(part, ['.rvm-more', 'h3']);
    else focusFirst(row, [details === null ? '.rvm-actions button:last-child' : '.rvm-opener']);
  }
}

function isThere(row: Element): boolean {
  return row.isConnected && !row.classList.contains(GONE);
}

function focusFirst(
  place: Element | null | undefined,
  selectors: readonly string[],
  otherwise?: HTMLElement,
): void {
  const found = selectors.map((selector) => place?.querySelector<HTMLElement>(selector));
  (found.find(Boolean) ?? otherwise)?.focus({ preventScroll: true });
}
