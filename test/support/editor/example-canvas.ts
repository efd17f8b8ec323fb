import type { Page } from 'playwright-core';
import type { FlowNode } from '../node-red/node-red';

/** The screen that every example is to fit on, with palette and sidebar open. */
export const SCREEN = { width: 1366, height: 768 };

/** A rectangle in the page, in pixels. */
export interface Drawn {
  /** Of the node. */
  id: string;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** What the editor shows of one tab. */
export interface Canvas {
  /** What neither palette, sidebar nor footer covers. */
  visible: Drawn;
  /** The nodes with their buttons. */
  nodes: Drawn[];
  /** The statuses below them. */
  statuses: Drawn[];
}

/** Puts a flow into the editor as an import does, and takes away the one before it. Nothing is deployed. */
export async function putFlow(page: Page, flow: readonly FlowNode[]): Promise<void> {
  await page.evaluate(`(() => {
    RED.nodes.clear();
    RED.nodes.import(${JSON.stringify(flow)}, { generateIds: false });
    RED.view.redraw(true);
  })()`);
}

/**
 * Shows a tab, with a status below each node that has one while the flow runs.
 * @param statuses texts by id of the node
 */
export async function canvasOf(page: Page, tab: string, statuses: Record<string, string>): Promise<Canvas> {
  await page.evaluate(`(() => {
    RED.workspaces.show(${JSON.stringify(tab)});
    for (const [id, text] of Object.entries(${JSON.stringify(statuses)})) {
      const node = RED.nodes.node(id);
      Object.assign(node, { status: { fill: 'red', shape: 'ring', text }, dirtyStatus: true, dirty: true });
      RED.view.redrawStatus(node);
    }
    RED.view.redraw(true);
  })()`);
  // The editor draws with the next frame.
  await page.waitForFunction(`document.querySelectorAll('.red-ui-flow-node-group').length > 0`);
  return page.evaluate<Canvas>(MEASURED);
}

/** Runs in the page. */
const MEASURED = `(() => {
  const drawn = (id, element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { id, left, top, right, bottom };
  };
  const visible = drawn('canvas', document.querySelector('#red-ui-workspace-chart'));
  visible.right = Math.min(visible.right, document.querySelector('#red-ui-sidebar').getBoundingClientRect().left);
  visible.bottom = Math.min(visible.bottom, document.querySelector('#red-ui-workspace-footer').getBoundingClientRect().top);
  const nodes = [];
  const statuses = [];
  for (const group of document.querySelectorAll('.red-ui-flow-node-group')) {
    for (const part of group.querySelectorAll('.red-ui-flow-node, .red-ui-flow-node-button')) nodes.push(drawn(group.id, part));
    const status = group.querySelector('.red-ui-flow-node-status-label');
    if (status && status.textContent) statuses.push(drawn(group.id, status));
  }
  return { visible, nodes, statuses };
})()`;

/** What the nodes of the palette are there for, each with its colour, in the order in which the palette shows them. */
export const GROUPS = {
  receiving: {
    color: '#e8a866',
    types: ['webhook-in', 'alarm-state', 'settle', 'list-events', 'watch', 'verify'],
  },
  asking: { color: '#a9cee0', types: ['list-devices', 'get-device', 'ptz', 'request'] },
  video: { color: '#a597cc', types: ['get-picture', 'get-clip', 'view', 'get-rtsp', 'snapshot'] },
} as const;

export const IN_PALETTE: readonly string[] = Object.values(GROUPS).flatMap(({ types }) => types);
