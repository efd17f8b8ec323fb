// What the definitions of nodes in the palette have in common. The editor calls it with the definition, or with a node.

/** Attribute that Node-RED's palette filter compares, in addition to the type; it ignores help and keywords. */
const COMPARED = 'data-palette-label';

/** Name of the type. */
export const paletteLabel = function (this: EditorNode): string {
  return this._(`${this.type}.label.node`);
};

/**
 * Lets the palette filter find a node by words its users know, not only by its name: "camera" finds list devices. The words
 * come from the texts of the node and of all nodes. English words work in each language, because manuals and colleagues use
 * them. Repeated calls do no harm.
 */
export const onpaletteadd = function (this: EditorNode): void {
  const { type } = this;
  const keys = [`${type}.label.node`, `${type}.search`, 'palette.search'];
  const words = keys.flatMap((key) => [this._(key), this._(key, { lng: 'en-US' })]);
  $('.red-ui-palette-node')
    .filter((_, element) => element.dataset.paletteType === type)
    .attr(COMPARED, [...new Set(words)].join(', '));
};

/** Own name, else that of the type. */
export const label = function (this: EditorNode): string {
  return this.name || this._(`${this.type}.label.node`);
};

export const labelStyle = function (this: EditorNode): string {
  return this.name ? 'node_label_italic' : '';
};

/** Of a node whose failures leave by the second output. */
export const outputLabels = function (this: EditorNode, index: number): string {
  return this._(index === 0 ? 'shared.result' : 'shared.failed');
};
