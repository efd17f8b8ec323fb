/**
 * Shows the default in the field of each property that a node lacks, as nodes of an older version or of a flow written by
 * hand do. Node-RED would show nothing, and keep that. A choice that is none of those offered, such as a variable, is shown
 * as it is.
 */
export function fillAbsent(node: EditorNode, kind: 'node' | 'node-config'): void {
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
