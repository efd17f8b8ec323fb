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
