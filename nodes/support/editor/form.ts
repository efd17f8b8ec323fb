/**
 * Shows the default in the field of each property that a node lacks, as nodes of an older version or of a flow written by
 * hand do. Node-RED would show nothing, and keep that. A choice that is none of those offered, such as a variable, is shown
 * as it is.
 */
function fillAbsent(node: EditorNode, kind: 'node' | 'node-config'): void {
  for (const [name, { value, type }] of Object.entries(node._def.defaults)) {
    const field = $(`#${kind}-input-${name}`);
    if (node[name] === undefined && value !== '') field.val(String(value));
    if (type === undefined && field.is('select')) showUnknownChoice(field, node[name]);
  }
}

function showUnknownChoice(field: JQuery, value: unknown): void {
  if (typeof value !== 'string' || value === '' || field.val() !== null) return;
  field.append($('<option>').val(value).text(value)).val(value);
}

/**
 * Sections of a dialog that most users have no need of: `<details class="rvm-fold">` with a `<summary>`. The browser folds them, by
 * keyboard as well. One opens by itself where it holds a value that is not the default, and as soon as a field in it is red:
 * nothing that counts is hidden.
 */
function foldSections(node: EditorNode, kind: 'node' | 'node-config'): void {
  $('.rvm-fold').each((_index, section) => {
    const isTouched = propertiesIn(section, kind).some((name) => isSet(node, name));
    $(section).prop('open', isTouched);
    openWhenRed(section);
  });
}

function propertiesIn(section: HTMLElement, kind: string): string[] {
  const prefix = `${kind}-input-`;
  const fields = $(section).find(`[id^="${prefix}"]`).toArray();
  return fields.map((field) => field.id.slice(prefix.length));
}

/** It holds something else than a new node would. What a node of an older version lacks counts as the default. */
function isSet(node: EditorNode, name: string): boolean {
  if (name in (node._def.credentials ?? {})) return hasCredential(node, name);
  const value = node[name];
  return value !== undefined && asTyped(value) !== asTyped(node._def.defaults[name]?.value);
}

/** As a field has it: a number that was typed is a text. */
function asTyped(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function hasCredential({ credentials }: EditorNode, name: string): boolean {
  const kept = (credentials ?? {}) as Record<string, unknown>;
  return kept[`has_${name}`] === true || (kept[name] ?? '') !== '';
}

/** The editor marks what is wrong by a class, now and whenever something is typed. */
function openWhenRed(section: HTMLElement): void {
  const open = (): void => {
    if ($(section).find('.input-error').length > 0) $(section).prop('open', true);
  };
  new MutationObserver(open).observe(section, { subtree: true, attributeFilter: ['class'] });
}

/**
 * Puts tips away behind a "?" in the row above: `<div class="form-tips rvm-more">`. They are for the first time; a dialog is opened
 * more often than that, and what is filled in should be seen whole.
 */
function foldTips(node: EditorNode): void {
  $('.rvm-form .rvm-more').each((index, element) => {
    const tip = $(element).prop('hidden', true);
    const id = `rvm-tip-${index}`;
    const title = node._('shared.tip.more');
    const button = $('<button type="button" class="rvm-help">').text('?');
    button.attr({ title, 'aria-label': title, 'aria-expanded': 'false', 'aria-controls': id });
    tip.attr({ id, role: 'note' });
    tip.prevAll('.form-row').first().children('label').first().append(button);
    button.on('click', (event) => {
      // It stands in a label, which would give the field the focus.
      event.preventDefault();
      const isShown = tip.prop('hidden') === true;
      tip.prop('hidden', !isShown);
      button.attr('aria-expanded', String(isShown));
    });
  });
}

/** What every dialog of the package does first when it opens. */
export function prepareForm(node: EditorNode, kind: 'node' | 'node-config'): void {
  fillAbsent(node, kind);
  foldSections(node, kind);
  foldTips(node);
  sayReasons(node, kind);
}

/** Says below a field what there is to know of it: else only those who point at it are told. */
export function showReasons(line: string, checks: readonly (boolean | string)[]): void {
  const reasons = checks.filter((check) => typeof check === 'string');
  $(line)
    .prop('hidden', reasons.length === 0)
    .empty()
    .append(reasons.map((reason) => $('<div>').text(reason)));
}

type Kind = 'node' | 'node-config';

/**
 * Says in the row of each field that is red why it is so. The editor tells that only to those who point at the field, and of a
 * config node not at all.
 */
function sayReasons(node: EditorNode, kind: Kind): void {
  const form = $('.rvm-form').last();
  const show = (): void => {
    form.find('.form-row').each((_index, row) => showReasonsOf(node, kind, $(row)));
  };
  const [element] = form.toArray();
  if (element === undefined) return;
  // The editor marks a field by a class. Of one that stays red the reason may be another.
  new MutationObserver(show).observe(element, { subtree: true, attributeFilter: ['class'] });
  form.on('input change keyup', show);
}

function showReasonsOf(node: EditorNode, kind: Kind, row: JQuery): void {
  const prefix = `${kind}-input-`;
  const reasons = new Set<string>();
  row.find(`[id^="${prefix}"]`).each((_index, element) => {
    const field = $(element);
    const isRed = field.hasClass('input-error') && field.closest('.rvm-second').css('display') !== 'none';
    field.attr('aria-invalid', isRed ? 'true' : null);
    if (isRed) reasons.add(reasonOf(node, element.id.slice(prefix.length), field));
  });
  const text = [...reasons].join(' ');
  const line = row.children('.rvm-reason');
  if (text === '') line.remove();
  else if (line.length === 0) row.append($('<p class="rvm-reason" role="status">').text(text));
  else if (line.text() !== text) line.text(text);
}

function reasonOf(node: EditorNode, name: string, field: JQuery): string {
  const { defaults, credentials } = node._def;
  const property = defaults[name];
  const validate = property?.validate ?? credentials?.[name]?.validate;
  const told = validate?.call(node, String(field.val() ?? ''), {});
  if (typeof told === 'string') return told;
  if (property?.type !== undefined) return node._(`shared.errors.${faultOfChoice(field.val())}`);
  const ofType = field.next('.red-ui-typedInput-container').length > 0 && typeFault(field);
  return typeof ofType === 'string' ? ofType : node._('shared.errors.unusable');
}

/** What is wrong with the choice of a config node. */
function faultOfChoice(value: unknown): string {
  if (typeof value !== 'string' || value === '' || value === '_ADD_') return 'chooseNode';
  return RED.nodes.node(value) ? 'nodeInvalid' : 'nodeMissing';
}

/** What the editor itself has against the value, such as an expression that cannot be read. */
function typeFault(field: JQuery): boolean | string {
  return field.typedInput('validate', { returnErrorMessage: true });
}

/** The node whose dialog was opened last. */
let opened = '';

/** Tells which node the open dialog belongs to: to be called when it opens. */
export function dialogOpened(node: EditorNode): void {
  opened = node.id;
}

/** What a property holds: as the open dialog has it, or as it is kept. For a check that depends on another property. */
export function currently(node: EditorNode, property: string): unknown {
  if (node.id !== opened) return node[property];
  const field = $(`#node-input-${property}`);
  return field.length > 0 ? field.val() : node[property];
}

/** Checks fields again that depend on one that has changed. */
export function checkAgain(...properties: string[]): void {
  for (const property of properties) $(`#node-input-${property}`).trigger('change');
}

/** Where Node-RED keeps what the filter of the palette compares with, beside the type: help and keywords it never looks at. */
const COMPARED = 'data-palette-label';

/**
 * Lets the filter of the palette find a node by what its users call things, and not by its name alone: "camera" for list devices.
 * The words stand in the texts of the node and of all nodes; those of English are good in each language, for pages and colleagues
 * speak it. To be called once the node is in the palette (`onpaletteadd`); again does no harm.
 */
export function addPaletteWords(definition: EditorNode): void {
  const { type } = definition;
  const keys = [`${type}.label.node`, `${type}.search`, 'palette.search'];
  const words = keys.flatMap((key) => [definition._(key), definition._(key, { lng: 'en-US' })]);
  $('.red-ui-palette-node')
    .filter((_, element) => element.dataset.paletteType === type)
    .attr(COMPARED, [...new Set(words)].join(', '));
}
