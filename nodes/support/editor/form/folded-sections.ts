/**
 * Sections of a dialog that most users have no need of: `<details class="rvm-fold">` with a `<summary>`. The browser folds them, by
 * keyboard as well. One opens by itself where it holds a value that is not the default, and as soon as a field in it is red:
 * nothing that counts is hidden.
 */
export function foldSections(node: EditorNode, kind: 'node' | 'node-config'): void {
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
