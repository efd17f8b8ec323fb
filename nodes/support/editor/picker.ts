import './picker.css';
import { AskError } from './requests';

/** One item to pick. */
export interface Pickable {
  id: string;
  name: string;
  /** Items of one group are listed together, under its name. */
  group?: string;
  /** State shown by the point of the item. */
  state?: { isGood: boolean; text: string };
}

/** Items offered by a picker. */
export interface Offer {
  items: readonly Pickable[];
  /** Text above the list, such as its age. */
  note?: string;
}

interface PickerOptions {
  /** Node of the dialog. */
  node: EditorNode;
  /** Property of the node: a typed input, unless `choice` is set. */
  name: string;
  /** For several values: the list stays open. */
  choice?: { has(id: string): boolean; toggle(item: Pickable): void };
  /** Label of the button. */
  title: string;
  /**
   * @param fresh calls the service now
   * @throws AskError
   */
  load(fresh: boolean): Promise<Offer>;
  /** Called after an item was picked. */
  picked?(): void;
}

/** Maximum of items shown at once; others are found by the search. */
const MOST = 200;

/** A list from which the user can choose the value of a typed input. All other values of the input stay possible. */
export class Picker {
  readonly #field: JQuery;
  readonly #panel = $('<div class="rvm-picker" hidden>');
  readonly #search = $('<input type="text" class="rvm-picker-search">');
  readonly #refresh = $('<button type="button" class="red-ui-button rvm-picker-refresh">');
  readonly #note = $('<div class="rvm-picker-note" role="status">');
  readonly #list = $('<div class="rvm-picker-list">');
  #items: readonly Pickable[] = [];
  /** Number of the last request; older answers are ignored. */
  #requests = 0;

  constructor(private readonly options: PickerOptions) {
    this.#field = $(`#node-input-${options.name}`);
    const row = this.#field.closest('.form-row');
    const button = $('<button type="button" class="red-ui-button rvm-pick">').append(icon('list'));
    button.attr({ title: options.title, 'aria-label': options.title, 'aria-expanded': 'false' });
    row.append(button);
    const refresh = this.#say('refresh');
    this.#refresh.attr({ title: refresh, 'aria-label': refresh }).append(icon('refresh'));
    const head = $('<div class="rvm-picker-head">').append(this.#search, this.#refresh);
    this.#panel.append(head, this.#note, this.#list).insertAfter(row);
    button.on('click', () => this.#toggle(button));
    this.#refresh.on('click', () => void this.#load(true));
    this.#search.on('input', () => this.#show());
    this.#search.on('keydown', (event) => {
      if (event.key !== 'Enter' || isComposing(event)) return;
      event.preventDefault();
      this.#list.find('button').first().trigger('click');
    });
  }

  /** Reloads the items after a change of their source. */
  reset(): void {
    this.#items = [];
    this.#requests += 1;
    if (this.#isOpen()) void this.#load(false);
  }

  /** Updates which items are picked; nothing moves, and the focus stays. */
  update(): void {
    this.#list.find('.rvm-picker-item').each((_index, element) => {
      const row = $(element);
      row.attr('aria-pressed', String(this.#isPicked(String(row.data('id')))));
    });
  }

  /** Closes the list, for example where its field is no longer needed. */
  close(): void {
    this.#panel.prop('hidden', true);
    this.#button().attr('aria-expanded', 'false');
  }

  #button(): JQuery {
    return this.#field.closest('.form-row').find('.rvm-pick');
  }

  #say(key: string, values?: Record<string, unknown>): string {
    return this.options.node._(`shared.picker.${key}`, values);
  }

  #isOpen(): boolean {
    return this.#panel.prop('hidden') !== true;
  }

  #toggle(button: JQuery): void {
    const opens = !this.#isOpen();
    this.#panel.prop('hidden', !opens);
    button.attr('aria-expanded', String(opens));
    if (!opens) return;
    // The list opens below the button, maybe outside of the visible part of the dialog.
    void this.#load(false).then(() => this.#panel[0]?.scrollIntoView({ block: 'nearest' }));
    this.#search.trigger('focus');
  }

  async #load(fresh: boolean): Promise<void> {
    this.#requests += 1;
    const request = this.#requests;
    this.#note.text(this.#say('loading')).removeClass('rvm-picker-fault');
    this.#refresh.prop('disabled', true);
    try {
      const { items, note = '' } = await this.options.load(fresh);
      if (request !== this.#requests) return;
      this.#items = items;
      this.#note.text(note);
    } catch (error) {
      if (request !== this.#requests) return;
      if (!(error instanceof AskError)) throw error;
      this.#items = [];
      this.#note.text(error.message).addClass('rvm-picker-fault');
    } finally {
      if (request === this.#requests) this.#refresh.prop('disabled', false);
    }
    this.#show();
  }

  #show(): void {
    const haveSites = this.#items.some(({ group = '' }) => group !== '');
    this.#search.attr('placeholder', this.#say(haveSites ? 'search' : 'searchPlain'));
    const wanted = String(this.#search.val()).trim().toLowerCase();
    const found = this.#items.filter(({ id, name, group = '' }) =>
      [id, name, group].some((text) => text.toLowerCase().includes(wanted)),
    );
    this.#list.empty();
    for (const [group, items] of grouped(found.slice(0, MOST))) {
      if (group !== '') this.#list.append($('<div class="rvm-picker-group">').text(group));
      this.#list.append(items.map((item) => this.#row(item)));
    }
    const hidden = found.length - MOST;
    if (hidden > 0) this.#list.append(remark(this.#say('more', { count: hidden })));
    else if (found.length === 0 && this.#items.length > 0) this.#list.append(remark(this.#say('nothing')));
  }

  #row(item: Pickable): JQuery {
    const { id, name, state } = item;
    const row = $('<button type="button" class="rvm-picker-item">');
    row.data('id', id).attr('aria-pressed', String(this.#isPicked(id)));
    if (state !== undefined) {
      row.append(icon(pointIcon(state.isGood))).attr('title', state.text);
    }
    const text = $('<span>').append($('<span class="rvm-picker-name">').text(name || id));
    if (name !== '' && name !== id) text.append($('<code>').text(id));
    row.append(text);
    return row.on('click', () => this.#pick(item));
  }

  #isPicked(id: string): boolean {
    const { choice } = this.options;
    return choice === undefined ? this.#field.typedInput('value') === id : choice.has(id);
  }

  #pick(item: Pickable): void {
    const { choice } = this.options;
    if (choice === undefined) return this.#pickOne(item.id);
    choice.toggle(item);
    this.update();
  }

  #pickOne(id: string): void {
    this.#field.typedInput('type', 'str');
    this.#field.typedInput('value', id);
    this.#field.trigger('change');
    this.close();
    this.options.picked?.();
    this.#button().trigger('focus');
  }
}

/** Groups in the order of their first items. */
function grouped(items: readonly Pickable[]): Map<string, Pickable[]> {
  const groups = new Map<string, Pickable[]>();
  for (const item of items) {
    const group = groups.get(item.group ?? '');
    if (group === undefined) groups.set(item.group ?? '', [item]);
    else group.push(item);
  }
  return groups;
}

function remark(text: string): JQuery {
  return $('<div class="rvm-picker-rest">').text(text);
}

function icon(name: string): JQuery {
  return $(`<i class="fa fa-${name}" aria-hidden="true">`);
}

/** Key code by which some browsers report a key of the input method, even after composition has ended. */
const PROCESSED = 229;

/** True for a key of the input method, such as the Enter that confirms Japanese or Chinese text: the field must ignore it. */
export function isComposing({ originalEvent, which }: JQuery.KeyDownEvent): boolean {
  return which === PROCESSED || originalEvent?.isComposing === true;
}

/** Name of the symbol of a good or bad state, different in shape and colour. */
export function pointIcon(isGood: boolean): string {
  return isGood ? 'circle rvm-good' : 'circle-o rvm-bad';
}
