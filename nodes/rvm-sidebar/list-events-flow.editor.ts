import { tell } from '../support/editor/requests';
import type { SidebarRow } from './overview';
import { own } from './rows.editor';

/** Before the event, in milliseconds: the alarm may have begun with another message. */
const BEFORE = 3_600_000;
/** As many rows as the node reads. */
const MOST = 10_000;

/**
 * Shows *list events* with what lists an alarm: on a tab of its own, with a button before it and the debug sidebar behind it. Where
 * there is such a tab already, that one.
 * @param name by which people know the event among those of a day
 */
export function openInListEvents(row: SidebarRow, name: string): void {
  const known = tabOf(row);
  if (known === undefined) RED.view.importNodes(flowOf(row, name), { generateIds: false, notify: false });
  const tab = known ?? tabOf(row);
  if (tab === undefined) return;
  RED.workspaces.show(tab);
  tell(own(known === undefined ? 'opened.list.made' : 'opened.list.known'), { timeout: 8000 });
}

/** By what picks the alarm: its label may be that of another, and people change it. */
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

/** All messages of the alarm, or the one alone that names none; a list also of one. */
function rowsOf({ alarmId, deliveryId }: SidebarRow): string {
  const [name, id] = alarmId === null ? ['deliveryId', deliveryId] : ['alarmId', alarmId];
  return `payload[${name}=${JSON.stringify(id)}][]`;
}
