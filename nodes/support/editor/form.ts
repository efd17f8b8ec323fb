/**
 * Shows the default of each property that a node lacks, as in nodes of an older version or of a flow written by hand. Node-RED
 * would show nothing, and save that. A stored choice that is not offered, such as a variable, is added to the list.
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
 * Prepares rarely used sections of a dialog: `<details class="rvm-fold">` with a `<summary>`. A section is opened where it
 * contains a value other than the default, and as soon as one of its fields is red, so that nothing important is hidden.
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

/** True where the value differs from that of a new node. A property missing in a node of an older version counts as default. */
function isSet(node: EditorNode, name: string): boolean {
  if (name in (node._def.credentials ?? {})) return hasCredential(node, name);
  const value = node[name];
  return value !== undefined && asTyped(value) !== asTyped(node._def.defaults[name]?.value);
}

/** The value as a field contains it: a typed number is text. */
function asTyped(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function hasCredential({ credentials }: EditorNode, name: string): boolean {
  const stored = (credentials ?? {}) as Record<string, unknown>;
  return stored[`has_${name}`] === true || (stored[name] ?? '') !== '';
}

/** The editor marks an invalid field by a class, at once and after each input. */
function openWhenRed(section: HTMLElement): void {
  const open = (): void => {
    if ($(section).find('.input-error').length > 0) $(section).prop('open', true);
  };
  new MutationObserver(open).observe(section, { subtree: true, attributeFilter: ['class'] });
}

/**
 * Hides tips (`<div class="form-tips rvm-more">`) behind a "?" in the row above. They help at first use only, and a dialog
 * should show its fields at a glance.
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
      // The button is inside a label, whose click would focus the field.
      event.preventDefault();
      const isShown = tip.prop('hidden') === true;
      tip.prop('hidden', !isShown);
      button.attr('aria-expanded', String(isShown));
    });
  });
}

/** Prepares a dialog of this package; to be called first when it opens. */
export function prepareForm(node: EditorNode, kind: 'node' | 'node-config'): void {
  opened = '';
  fillAbsent(node, kind);
  foldSections(node, kind);
  foldTips(node);
  sayReasons(node, kind);
}

/** Shows remarks below a field. A tooltip would show them only to users who hover over the field. */
export function showReasons(line: string, checks: readonly (boolean | string)[]): void {
  const reasons = checks.filter((check) => typeof check === 'string');
  $(line)
    .prop('hidden', reasons.length === 0)
    .empty()
    .append(reasons.map((reason) => $('<div>').text(reason)));
}

type Kind = 'node' | 'node-config';

/** Shows in the row of each red field the reason. The editor shows it only in a tooltip, and for config nodes not at all. */
function sayReasons(node: EditorNode, kind: Kind): void {
  const form = $('.rvm-form').last();
  const show = (): void => {
    form.find('.form-row').each((_index, row) => showReasonsOf(node, kind, $(row)));
  };
  const [element] = form.toArray();
  if (element === undefined) return;
  // The editor marks a field by a class. While it stays red, the reason may change.
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
  const result = validate?.call(node, String(field.val() ?? ''), {});
  if (typeof result === 'string') return result;
  if (property?.type !== undefined) return node._(`shared.errors.${faultOfChoice(field.val())}`);
  const ofType = field.next('.red-ui-typedInput-container').length > 0 && typeFault(field);
  return typeof ofType === 'string' ? ofType : node._('shared.errors.unusable');
}

/** Fault of a chosen config node. */
function faultOfChoice(value: unknown): string {
  if (typeof value !== 'string' || value === '' || value === '_ADD_') return 'chooseNode';
  return RED.nodes.node(value) ? 'nodeInvalid' : 'nodeMissing';
}

/** Fault found by the editor's typed input, such as an invalid expression. */
function typeFault(field: JQuery): boolean | string {
  return field.typedInput('validate', { returnErrorMessage: true });
}

/** Id of the node whose dialog was opened last. */
let opened = '';

/** Sets the node of the open dialog; to be called when that opens, and its typed inputs are made where they are checked. */
export function dialogOpened(node: EditorNode): void {
  opened = node.id;
}

/** Current value of a property: from the open dialog, or as stored. For checks that depend on another property. */
export function currently(node: EditorNode, property: string): unknown {
  if (node.id !== opened) return node[property];
  const field = $(`#node-input-${property}`);
  return field.length > 0 ? field.val() : node[property];
}

/** True, or what the editor has against a typed input of the open dialog: a check of our own takes the place of the editor's. */
export function typedOrReason(node: EditorNode, property: string): boolean | string {
  const field = $(`#node-input-${property}`);
  return node.id !== opened || field.length === 0 || typeFault(field);
}

/** Validates fields again, after a change of a property they depend on. */
export function checkAgain(...properties: string[]): void {
  for (const property of properties) $(`#node-input-${property}`).trigger('change');
}
