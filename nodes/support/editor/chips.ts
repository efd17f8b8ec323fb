import type { SeenIds } from '../../../lib/inbox/searches';
import {
  CLASSES,
  type FilterName,
  idForm,
  idsIn,
  JUDGED,
  type KnownIds,
  textOfIds,
  unknownIds,
} from '../../../lib/message/event-filter';
import './chips/chip-field.css';
import { isComposing, type Offer, type Pickable, Picker } from './picker';
import { ask, AskError } from './requests';
import { isVariable, trimmed } from './validate';

interface ChipOptions {
  /** Node of the dialog. */
  node: EditorNode;
  /** Property of the node, a hidden field with ids as `lib/message/event-filter` reads them. */
  name: FilterName;
  /** Placeholder without ids. */
  all: string;
  /**
   * @param fresh calls the service now
   * @throws AskError
   */
  load(fresh: boolean): Promise<Offer>;
  /** Display name of an id, where known. */
  nameOf(id: string): string | undefined;
}

/**
 * A list of ids, each as a chip, picked from a list or typed. By keyboard: Enter or a comma adds, Backspace removes the last.
 */
export class ChipField {
  readonly #field: JQuery;
  readonly #box: JQuery;
  readonly #entry: JQuery;
  readonly #picker: Picker;
  /** By id. A chip keeps its element while others come and go, so that it keeps focus and pointer. */
  readonly #chips = new Map<string, JQuery>();
  #ids: string[];

  constructor(private readonly options: ChipOptions) {
    const { name, node } = options;
    this.#field = $(`#node-input-${name}`);
    this.#box = $(`#rvm-chips-${name}`);
    this.#ids = idsIn(String(this.#field.val()));
    this.#entry = $('<input type="text" class="rvm-chip-entry" autocomplete="off">');
    this.#entry.attr({ id: `rvm-chip-entry-${name}` });
    this.#entry.on('keydown', (event) => this.#typed(event));
    this.#entry.on('blur', () => this.#addTyped());
    this.#box.append(this.#entry).on('click', (event) => {
      if (event.target === this.#box[0]) this.#entry.trigger('focus');
    });
    this.#picker = new Picker({
      node,
      name,
      title: this.#say('choose'),
      load: (fresh) => options.load(fresh),
      choice: {
        has: (id) => this.#ids.some((other) => this.#isSame(id, other)),
        toggle: (item) => this.#toggle(item),
      },
    });
    this.show();
  }

  get ids(): readonly string[] {
    return this.#ids;
  }

  /** To be called when the ids, or what is known of them, have changed. */
  show(): void {
    for (const [id, chip] of this.#chips) {
      if (this.#ids.includes(id)) continue;
      chip.remove();
      this.#chips.delete(id);
    }
    const unknown = new Set(unknownOf(this.options.node, this.options.name, this.#ids));
    for (const id of this.#ids) this.#mark(id, this.#chips.get(id) ?? this.#newChip(id), unknown.has(id));
    this.#entry.attr('placeholder', this.#ids.length === 0 ? this.options.all : '');
    // Makes Node-RED validate the field and show the reason below it.
    this.#field.trigger('change');
  }

  /** Reloads the offered items after a change of their source. */
  reset(): void {
    this.#picker.reset();
  }

  #say(key: string, values?: Record<string, unknown>): string {
    return this.options.node._(`shared.chips.${key}`, values);
  }

  #newChip(id: string): JQuery {
    const button = $('<button type="button">').append($('<i class="fa fa-times" aria-hidden="true">'));
    button.on('click', () => {
      this.#set(this.#ids.filter((other) => other !== id));
      this.#entry.trigger('focus');
    });
    const chip = $('<span class="rvm-chip">').attr('title', id).append($('<span>'), button);
    this.#chips.set(id, chip);
    // A new chip is always the last.
    this.#entry.before(chip);
    return chip;
  }

  #mark(id: string, chip: JQuery, isUnknown: boolean): void {
    const name = this.options.nameOf(id) ?? id;
    const remove = this.#say('remove', { name });
    chip.toggleClass('rvm-chip-unknown', isUnknown);
    chip.children('span').text(name);
    chip.children('button').attr({ title: remove, 'aria-label': remove });
  }

  #typed(event: JQuery.KeyDownEvent): void {
    if (isComposing(event)) return;
    if (event.key === 'Enter' || (event.key === ',' && !this.#isQuoting())) {
      // Enter would close the dialog.
      event.preventDefault();
      this.#addTyped();
    } else if (event.key === 'Backspace' && this.#entry.val() === '') {
      this.#set(this.#ids.slice(0, -1));
    }
  }

  /** True inside of quotes, where a comma is part of the id. */
  #isQuoting(): boolean {
    return /^\s*"(?:[^"]|"")*$/.test(String(this.#entry.val()));
  }

  #addTyped(): void {
    const typed = idsIn(String(this.#entry.val()));
    this.#entry.val('');
    if (typed.length > 0) this.#set([...new Set([...this.#ids, ...typed])]);
  }

  #isSame(one: string, other: string): boolean {
    const { name } = this.options;
    return idForm(name, one) === idForm(name, other);
  }

  #toggle({ id }: Pickable): void {
    const others = this.#ids.filter((other) => !this.#isSame(other, id));
    this.#set(others.length < this.#ids.length ? others : [...this.#ids, id]);
  }

  #set(ids: string[]): void {
    this.#ids = ids;
    this.#field.val(textOfIds(ids));
    this.show();
    this.#picker.update();
  }
}

/** Known ids by node, as set last by its dialog. */
const known = new Map<string, KnownIds>();

/** @param ids undefined where they are no longer known */
export function setKnown({ id }: EditorNode, ids: KnownIds | undefined): void {
  if (ids === undefined) known.delete(id);
  else known.set(id, ids);
}

/** Chosen ids that are unknown. Variables are not judged. */
function unknownOf({ id }: EditorNode, name: FilterName, ids: readonly string[]): readonly string[] {
  const judged = JUDGED.find((each) => each === name);
  if (judged === undefined) return [];
  const chosen = ids.filter((each) => !isVariable(each));
  const wanted = { classes: [], sites: [], cameras: [], rules: [], [judged]: chosen };
  return unknownIds(wanted, known.get(id) ?? {})[judged];
}

/** True, or the reason. Valid: ids not known to be wrong, or a single variable for all of them. */
export function idsOrReason(node: EditorNode, name: FilterName, value: unknown): boolean | string {
  const ids = idsIn(trimmed(value));
  if (isVariable(value)) return true;
  if (ids.some(isVariable)) return node._('shared.chips.variableAlone');
  const unknown = unknownOf(node, name, ids);
  return unknown.length === 0 || node._(`shared.chips.unknown.${name}`, { id: unknown.join(', ') });
}

/**
 * Ids in the newest events of some Central Stations; undefined where they cannot be loaded.
 * @param stations their keys
 */
export async function askSeen(node: EditorNode, stations: readonly string[]): Promise<SeenIds | undefined> {
  try {
    const data = { node: node.id, stations: stations.join(',') };
    return await ask<SeenIds>((key) => node._(key), { url: 'rvm/seen-ids', data });
  } catch (error) {
    if (error instanceof AskError) return undefined;
    throw error;
  }
}

/** Ids of events as items of a picker. */
export function seenOffers(name: FilterName, seen: SeenIds | undefined): Pickable[] {
  return seen?.[name].map(({ ids: [id = ''], name: shown, group }) => ({ id, name: shown, group })) ?? [];
}

/** The classes of the specification, and further ones that events had. */
export function classOffers(seen: SeenIds | undefined): Pickable[] {
  return withOthers('classes', CLASSES.map(pickable), seenOffers('classes', seen));
}

export function pickable(id: string): Pickable {
  return { id, name: id };
}

export function withOthers(
  name: FilterName,
  first: readonly Pickable[],
  others: readonly Pickable[],
): Pickable[] {
  const known = new Set(first.map(({ id }) => idForm(name, id)));
  return [...first, ...others.filter(({ id }) => !known.has(idForm(name, id)))];
}
