/** Where the editor shows the buttons that open a sidebar. */
export interface SidebarPlaces {
  /** Button of the debug sidebar. */
  beetle: string;
  /** Button of the sidebar of Remote monitoring. */
  bell: string;
}

const FROM_5: SidebarPlaces = {
  beetle: 'the beetle at the bottom right',
  bell: 'the bell at the bottom right',
};
/** Before version 5 the editor has space for few buttons: those of plugins are in a menu. */
const BEFORE_5: SidebarPlaces = {
  beetle: 'the beetle at the top right',
  bell: 'the bell in the menu behind the arrow at the top right',
};

/** @param version of Node-RED, such as 5.0.7 */
export function sidebarPlaces(version: string): SidebarPlaces {
  return Number.parseInt(version, 10) < 5 ? BEFORE_5 : FROM_5;
}

/** The text that `npm start` prints once the flows run. */
export function introduction(port: string, version: string): string {
  const { beetle, bell } = sidebarPlaces(version);
  return [
    '',
    `  Open  http://127.0.0.1:${port}/`,
    '',
    '  The first example flow is running against the sandbox. Every few seconds an alarm comes in. The sidebar of Remote',
    `  monitoring (${bell}) shows it with its picture:`,
    '  a click on that plays its clip, a click on a camera shows it live.',
    '',
    '  Try',
    `  - open the page of an alarm: its address stands in the debug sidebar (${beetle})`,
    '  - send something unproven, and see it refused with 401:',
    `    curl -i -X POST -d '{}' http://127.0.0.1:${port}/remote-monitoring/example-01`,
    '  - import the second example: menu, Import, Examples, @rvm/node-red-remote-monitoring',
    '',
    '  Stop with Ctrl-C. Start afresh by removing the folder .start.',
    '',
  ].join('\n');
}
