import type { Desk } from './desk.editor';
import type { Asked } from './discards.editor';
import { own } from './row.editor';

/** What can be done with a row. */
export interface RowAction {
  /** Names its text. */
  action: string;
  asked: Asked;
  /** It is done only when it cannot be taken back any more. */
  canUndo?: boolean;
  /** What the runtime has answered. */
  done?: (answer: unknown) => void;
}

/** The buttons of a row, each of which names what it is of; and the way back from what was discarded. */
export class RowActions {
  readonly element = $('<div class="rvm-actions">');
  /** By their names. */
  #actions = new Map<string, RowAction>();
  #name = '';
  #drawn = '';

  constructor(
    private readonly key: string,
    private readonly desk: Desk,
  ) {}

  /** @param name by which people know the row */
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
      // Whoever has the focus here keeps it until the row goes.
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
    const { asked, canUndo = false, done } = action;
    if (canUndo) {
      this.desk.discards.begin(this.key, asked, this.#draw);
      this.#draw();
      return;
    }
    const answer = await this.desk.act(asked.path, asked.body);
    if (answer !== undefined) done?.(answer);
  }
}
