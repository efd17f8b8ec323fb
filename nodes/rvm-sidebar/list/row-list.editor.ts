import { arrange } from './arrange.editor';
import { nothing } from './row.editor';

/** One row of a list; the same element for as long as it is listed, so that it keeps the focus. */
export interface RowView<Row> {
  show(row: Row): JQuery;
}

export interface RowListOptions<Row, View extends RowView<Row>> {
  keyOf: (row: Row) => string;
  make: (row: Row) => View;
  /** Whether one that is not listed any more is gone for good, rather than out of what is listed. Default: it is. */
  isGone?: (row: Row) => boolean;
}

/** What must not change now: `all`, no row may move; `new`, none may come; `none`, nothing is held. */
export type Holding = 'all' | 'new' | 'none';

export interface Showing {
  hold: Holding;
  /** Rows at most; default all. */
  most?: number;
  /** What stands behind the rows. */
  further?: readonly JQuery[];
}

interface Shown<Row, View> {
  view: View;
  element: JQuery;
  row: Row;
}

const GONE = 'rvm-gone';

/**
 * Rows that do not move while they are held: what is new waits then, what is listed is shown as it is now, in its place, and what is
 * gone stays there, greyed, and does nothing.
 */
export class RowList<Row, View extends RowView<Row> = RowView<Row>> {
  /** By key, in their order. */
  #shown = new Map<string, Shown<Row, View>>();
  /** Keys of all that there were when rows were put in order last. */
  #known: ReadonlySet<string> = new Set();

  constructor(
    readonly element: JQuery,
    private readonly options: RowListOptions<Row, View>,
  ) {
    const [list] = element.get();
    for (const name of ['click', 'keydown']) list?.addEventListener(name, keepFromGone, true);
  }

  /** @returns how many wait to be shown */
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
    arrange(this.element, elements.length > 0 ? elements : [nothing()]);
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

  /** To the same place in the next row that is still there, or in the one before. */
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
    const place = [same, ...others].find((each) => each !== undefined && each.length > 0) ?? $();
    // It may be about to be shown only now.
    requestAnimationFrame(() =>
      (place.get(0) ?? this.element.closest('[tabindex]').get(0))?.focus({ preventScroll: true }),
    );
  }
}

function markGone(element: JQuery, isGone: boolean): void {
  if (element.hasClass(GONE) === isGone) return;
  element.toggleClass(GONE, isGone);
  // A button that is disabled would lose the focus.
  element.find('button, select, [role="button"]').attr('aria-disabled', String(isGone));
}

function keepFromGone(event: Event): void {
  const isKey = event instanceof KeyboardEvent && event.key !== 'Enter' && event.key !== ' ';
  if (isKey || !(event.target instanceof Element) || event.target.closest(`.${GONE}`) === null) return;
  event.preventDefault();
  event.stopPropagation();
}
