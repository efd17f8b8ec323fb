import { notify } from '../support/editor/requests';
import type { SidebarRow } from './overview';
import { own } from './rows.editor';

/** Milliseconds before the event: the alarm may have begun with another message. */
const BEFORE = 3_600_000;
/** Maximum of rows that the node reads. */
const MOST = 10_000;

/**
 * Opens a tab with *list events* set to one alarm: a button before the node, the debug sidebar after it. An existing tab for
 * the same alarm is shown instead.
 * @param name names the event among those of a day
 */
export function openInListEvents(row: SidebarRow, name: string): void {
  const known = tabOf(row);
  if (known === undefined) RED.view.importNodes(flowOf(row, name), { generateIds: false, notify: false });
  const tab = known ?? tabOf(row);
  if (tab === undefined) return;
  RED.workspaces.show(tab);
  notify(own(known === undefined ? 'opened.list.made' : 'opened.list.known'), { timeout: 8000 });
}

/** Finds the tab by the expression that selects the alarm: users may change the label, and labels may be equal. */
function tabOf(row: SidebarRow): string | undefined {
  const picks = rowsOf(row);
  let found: string | undefined;
  RED.nodes.eachNode(({ type, z, rules }) => {
    const isPick = type === 'change' && Array.isArray(rules) && rules.some((rule) => toOf(rule) === picks);
    if (isPick && typeof z === 'string') found = z;
  });
  return found;
}

function toOf(rule: unknown): unknown {
  return typeof rule === 'object' && rule !== null && 'to' in rule ? rule.to : undefined;
}

function flowOf(row: SidebarRow, name: string): object[] {
  const label = own('opened.list.tab', { name: `${name}, ${new Date(row.time).toLocaleDateString()}` });
  const [tab, inject, list, pick, debug] = Array.from({ length: 5 }, () => RED.nodes.id());
  const since = new Date(Date.parse(row.time) - BEFORE).toISOString();
  const base = { z: tab, y: 80, name: '' };
  return [
    { id: tab, type: 'tab', label },
    {
      ...base,
      id: inject,
      type: 'inject',
      name: own('opened.list.press'),
      x: 130,
      props: [],
      repeat: '',
      crontab: '',
      once: false,
      topic: '',
      wires: [[list]],
    },
    {
      ...base,
      id: list,
      type: 'rvm-list-events',
      x: 310,
      configVersion: 1,
      state: 'all',
      since,
      sinceType: 'str',
      limit: MOST,
      history: true,
      groupBy: '',
      wires: [[pick], []],
    },
    {
      ...base,
      id: pick,
      type: 'change',
      name: own('opened.list.pick'),
      x: 500,
      rules: [{ t: 'set', p: 'payload', pt: 'msg', to: rowsOf(row), tot: 'jsonata' }],
      wires: [[debug]],
    },
    {
      ...base,
      id: debug,
      type: 'debug',
      x: 690,
      active: true,
      tosidebar: true,
      complete: 'payload',
      targetType: 'msg',
      wires: [],
    },
  ];
}

/** JSONata expression: all messages of the alarm, or the single message without an alarm id; always an array. */
function rowsOf({ alarmId, deliveryId }: SidebarRow): string {
  const [name, id] = alarmId === null ? ['deliveryId', deliveryId] : ['alarmId', alarmId];
  return `payload[${name}=${JSON.stringify(id)}][]`;
}
