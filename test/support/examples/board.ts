import assert from 'node:assert/strict';
import type { EventRow } from '../../../lib/inbox/event-row';
import type { HistoryEntry } from '../../../lib/inbox/history';
import { PHRASE } from '../node-red/flows';
import { entrance, type FlowNode, inject, type NodeRed, probe } from '../node-red/node-red';
import { eventually } from '../time/patience';
import { alarmMessage, post } from '../webhook/alarm-message';
import { withChanges, withConstants } from './example-run';
import { example } from './examples';

/** An alarm as the page gets it. */
export type Row = Record<string, unknown>;

/** Where a test stands in for the nodes of the flow. */
const DOORS = {
  list: 'rvm-example-10-rows',
  tell: 'rvm-example-10-alarms',
  hand: 'rvm-example-10-operator',
  failed: 'rvm-example-10-failed',
  plan: 'rvm-example-10-plan',
  statistics: 'rvm-example-10-statistics',
};

/** The board, which asks for no list: a test tells lists to its function, or what that makes of them to the page. */
export function boardWithDoors(): FlowNode[] {
  const still = { once: false, repeat: '' };
  const nodes = withChanges(boardFlow(), {
    'rvm-example-10-tick': still,
    'rvm-example-10-devices-tick': still,
    'rvm-example-10-statistics-tick': still,
    'rvm-example-10-refresh-in': { wires: [[]] },
  });
  const doors = Object.entries(DOORS).flatMap(([name, to]) => entrance(name, to));
  return [...nodes, ...doors.map((node) => ({ ...node, z: 'rvm-example-10-tab' }))];
}

export function rowOf(rule: string, further: Row = {}): Row {
  const place = { station: 'example-10', site: 'Depot', camera: 'Gate 1' };
  const facts = {
    proof: 'hmac',
    ended: false,
    deliveries: [rule],
    trail: [],
    claimedBy: '',
    escalated: false,
  };
  return { key: rule, rule, time: new Date().toISOString(), ...place, ...facts, ...further };
}

const TAB = 'rvm-example-10-tab';

/** An event of the inbox with its audit trail. */
export type Trail = EventRow & { history: HistoryEntry[] };

interface BoardFlowOptions {
  /** For a verdict to be taken back. */
  undoSeconds?: number;
  /** Without a hand. */
  escalateAfter?: number;
}

/** Example 10 with a phrase that tests know, probes for what goes to the pager and is asked of video, and a way to read the trail. */
export function boardFlow({ undoSeconds = 10, escalateAfter = 60 }: BoardFlowOptions = {}): FlowNode[] {
  const minutes = { t: 'set', p: 'minutes', pt: 'msg', to: String(escalateAfter), tot: 'num' };
  const beside = { 'rvm-example-10-escalate': 'escalation', 'rvm-example-10-view': 'video' };
  const nodes = withChanges(example('10', beside), {
    'rvm-example-10-station': { credentials: { secret: PHRASE } },
    'rvm-example-10-minutes': { rules: [minutes] },
  }).map((node) =>
    node.id === 'rvm-example-10-operator' ? withConstants(node, { UNDO_SECONDS: String(undoSeconds) }) : node,
  );
  const all = { state: 'all', history: true, limit: 1000 };
  const list = {
    id: 'trail-list',
    type: 'rvm-list-events',
    z: TAB,
    x: 0,
    y: 0,
    wires: [['trail'], []],
    ...all,
  };
  const ask = entrance('ask-trail', 'trail-list').map((node) => ({ ...node, z: TAB }));
  return [...nodes, ...ask, list, probe('trail', TAB)];
}

/** All events of the inbox, newest first. */
export async function trailOf(nodeRed: NodeRed): Promise<Trail[]> {
  const from = nodeRed.seen.length;
  await inject(nodeRed, 'ask-trail', {});
  await nodeRed.until(() => nodeRed.at('trail', from).length > 0, 'the list of the inbox');
  return nodeRed.at('trail', from)[0]?.payload as Trail[];
}

/** Waits until the events of an alarm are as wanted, and gives the first of them. */
export async function trailWhen(
  nodeRed: NodeRed,
  rule: string,
  isWanted: (events: readonly Trail[]) => boolean,
): Promise<Trail> {
  let events: Trail[] = [];
  await eventually(
    async () => {
      events = (await trailOf(nodeRed)).filter((row) => row.rule === rule);
      return events.length > 0 && isWanted(events);
    },
    `the trail of ${rule}`,
    100,
  );
  return events.at(-1) ?? assert.fail();
}

/** What persons have said of an event: who, and what. */
export function saidOf({ history }: Trail): [by?: string, said?: string][] {
  return history
    .filter(({ step }) => step === 'verdict')
    .map(({ by, note, verdict }) => [by, [verdict, note].filter(Boolean).join(' ')]);
}

/** Posts a proven message to the board, whose service knows no such camera. @param path of another webhook in */
export async function postAlarm(
  nodeRed: NodeRed,
  payload: Record<string, unknown>,
  path = '/remote-monitoring/example-10',
): Promise<void> {
  const answer = await post(nodeRed.url + path, alarmMessage(payload), PHRASE);
  assert.equal(answer.status, 200);
}
