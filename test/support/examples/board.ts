import assert from 'node:assert/strict';
import type { EventRow } from '../../../lib/inbox/store/stored-message';
import type { HistoryEntry } from '../../../lib/inbox/model';
import { PHRASE } from '../node-red/flows';
import { entrance, type FlowNode, flowNode, inject, type NodeRed, probe } from '../node-red/node-red';
import { eventually } from '../time/patience';
import { alarmMessage, post } from '../webhook/alarm-message';
import { withChanges, withConstants } from './example-run';
import { example } from './examples';

/** An alarm as the page gets it. */
export type Row = Record<string, unknown>;

/** Where a test stands in for the nodes of the flow. */
const DOORS = {
  list: 'rows',
  tell: 'alarms',
  hand: 'operator',
  failed: 'failed',
  plan: 'plan',
  statistics: 'statistics',
};

/** The board, which asks for no list: a test tells lists to its function, or what that makes of them to the page. */
export function boardWithDoors(): FlowNode[] {
  const still = { once: false, repeat: '' };
  const ticks = { tick: still, 'devices-tick': still, 'statistics-tick': still };
  const nodes = withChanges(boardFlow(), { ...ticks, 'refresh-in': { wires: [[]] } });
  return [...nodes, ...Object.entries(DOORS).flatMap(([name, to]) => door(name, `rvm-example-10-${to}`))];
}

/** An entrance on the tab of the board. */
export function door(id: string, to: string): FlowNode[] {
  return entrance(id, to).map((node) => ({ ...node, z: TAB }));
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
  const nodes = withChanges(example('10', { escalate: 'escalation', view: 'video' }), {
    station: { credentials: { secret: PHRASE } },
    minutes: { rules: [minutes] },
  }).map((node) =>
    node.id === 'rvm-example-10-operator' ? withConstants(node, { UNDO_SECONDS: String(undoSeconds) }) : node,
  );
  const all = { z: TAB, state: 'all', history: true, limit: 1000 };
  const list = flowNode('trail-list', 'rvm-list-events', [['trail'], []], all);
  return [...nodes, ...door('ask-trail', 'trail-list'), list, probe('trail', TAB)];
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
  isWanted: (events: readonly Trail[]) => boolean | undefined,
): Promise<Trail> {
  let events: Trail[] = [];
  await eventually(
    async () => {
      events = (await trailOf(nodeRed)).filter((row) => row.rule === rule);
      return events.length > 0 && isWanted(events) === true;
    },
    `the trail of ${rule}`,
    100,
  );
  return events.at(-1) ?? assert.fail();
}

/** Waits until so many events of an alarm are settled, all that there are, and gives the first of them. */
export function settledWhen(nodeRed: NodeRed, rule: string, count = 1): Promise<Trail> {
  return trailWhen(
    nodeRed,
    rule,
    (events) => events.length === count && events.every(({ state }) => state === 'delivered'),
  );
}

/** Posts an alarm of that rule, and waits until the board has it. */
export async function raiseAtBoard(nodeRed: NodeRed, rule: string, facts: Row = {}): Promise<Trail> {
  await postAlarm(nodeRed, { eventRuleName: rule, alarmId: rule.toLowerCase(), ...facts });
  return trailWhen(nodeRed, rule, ([row]) => row?.state === 'leased');
}

/** Waits until so much was said of an event. */
export async function saidWhen(
  nodeRed: NodeRed,
  rule: string,
  count = 1,
): Promise<ReturnType<typeof saidOf>> {
  return saidOf(await trailWhen(nodeRed, rule, ([row]) => row && saidOf(row).length >= count));
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
