import type { Desk } from './desk.editor';
import { RowActions, type RowAction } from './row-actions.editor';
import { linesOf, present } from './row.editor';

/** A row that consists of text, with what can be done with it. */
export interface TextRow {
  /** Unlike that of any other row of the sidebar. */
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

  constructor({ key }: TextRow, desk: Desk) {
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
