/**
 * Shows the default in the field of each property that a node lacks, as nodes of an older version or of a flow written by
 * hand do. Node-RED would show nothing, and keep that.
 */
export function fillAbsent(node: EditorNode, kind: 'node' | 'node-config'): void {
  for (const [name, { value }] of Object.entries(node._def.defaults)) {
    if (node[name] === undefined && value !== '') $(`#${kind}-input-${name}`).val(String(value));
  }
}
