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
