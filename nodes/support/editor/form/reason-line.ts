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
export function sayReasons(node: EditorNode, kind: Kind): void {
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
