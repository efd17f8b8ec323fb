import type { Desk } from '../list/desk.editor';
import type { RowView } from '../list/row-list.editor';
import { linesOf, own, present } from '../list/row.editor';
import type { AbandonedRow, Taker } from '../overview';
import { tell } from '../../support/editor/requests';

/**
 * Events that wait for a *webhook in* that is not there. A row stays the same element for as long as it is listed, so that nobody's
 * choice is taken back while others count on.
 */
export class AbandonedRowView implements RowView<AbandonedRow> {
  readonly #element = $('<div class="rvm-row">');
  readonly #facts = $('<div>');
  readonly #choice = $('<select>');
  readonly #actions = $('<div class="rvm-assign">');
  #offered = '';

  constructor(
    row: AbandonedRow,
    private readonly desk: Desk,
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
    if (answer !== undefined) tell(own('assigned', { count: answer.assigned }), { timeout: 4000 });
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
