import { arrange } from './arrange.editor';
import type { AbandonedRow, Taker } from './overview';
import { linesOf, nothing, own, present } from './row.editor';

/** Somebody wants events to go to this endpoint. */
type Assign = (row: AbandonedRow, to: string) => void;

/**
 * Events that wait for a *webhook in* that is not there. A row stays the same element for as long as it is listed, so that nobody's
 * choice is taken back while others count on.
 */
export class AbandonedList {
  /** By inbox and endpoint. */
  readonly #rows = new Map<string, Row>();

  constructor(
    private readonly list: JQuery,
    private readonly assign: Assign,
  ) {}

  show(rows: readonly AbandonedRow[]): void {
    const keys = new Set(rows.map(keyOf));
    for (const key of this.#rows.keys()) if (!keys.has(key)) this.#rows.delete(key);
    const shown = rows.map((row) => this.#rowOf(row).show(row));
    arrange(this.list, shown.length > 0 ? shown : [nothing()]);
  }

  #rowOf(row: AbandonedRow): Row {
    const known = this.#rows.get(keyOf(row)) ?? new Row(row, this.assign);
    this.#rows.set(keyOf(row), known);
    return known;
  }
}

function keyOf({ inbox, endpointId }: AbandonedRow): string {
  return `${inbox} ${endpointId}`;
}

class Row {
  readonly #element = $('<div class="rvm-row">');
  readonly #facts = $('<div>');
  readonly #choice = $('<select>').attr('aria-label', own('assignTo'));
  readonly #actions = $('<div class="rvm-assign">');
  #offered = '';

  constructor(row: AbandonedRow, assign: Assign) {
    const button = $('<button type="button" class="red-ui-button red-ui-button-small">')
      .text(own('assign'))
      .attr('data-action', 'assign')
      .on('click', () => assign(row, String(this.#choice.val())));
    this.#actions.append(this.#choice, button);
    this.#element.append(this.#facts, this.#actions);
  }

  show({ path, port, count, inboxTitle, takers }: AbandonedRow): JQuery {
    const at = port === '' ? null : own('port', { port });
    const inbox = inboxTitle === null ? null : own('inbox', { folder: inboxTitle });
    const lines = linesOf(path, own('abandonedHint', { count }), present([at, inbox], ' · '));
    this.#facts.empty().append(lines);
    this.#actions.toggle(takers.length > 0);
    this.#offer(takers);
    return this.#element;
  }

  /** What was chosen stays so, while it is there. */
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

/** With its path, where another is known by the same title. */
function nameIn(takers: readonly Taker[], { title, path }: Taker): string {
  const isUnique = takers.filter((other) => other.title === title).length === 1;
  return isUnique ? title : `${title} (${path})`;
}
