import type { NodeAPI, NodeMessage, NodeStatus } from 'node-red';
import type { AlarmState } from '../../lib/alarms/alarm-state';
import type { StateMessage } from '../../lib/alarms/levels';
import {
  type AlarmSettings,
  type Grouping,
  GROUPINGS,
  LONGEST_HOLD,
  MOST_COUNTED,
} from '../../lib/alarms/settings';
import { isRecord, type JsonRecord } from '../../lib/json/json';
import { idsIn } from '../../lib/message/event-filter';
import { KEY, keyFromName } from '../support/rules';
import { flagOf, numberOf, type Properties, textOf } from '../support/settings';
import { joint, momentOf, status } from '../support/status';
import { withWords, wordsOf, type WordValue } from '../support/status-words';

/** A live *alarm state* node. */
export interface LivingAlarmState {
  readonly nodeId: string;
  /** Unique per node and run. */
  readonly life: string;
  /** Identifies its state: inbox and key. Nodes with the same value share the state. */
  readonly shared: string;
  /** Names of the groups that are raised. */
  raised(): string[];
}

const states = new Set<LivingAlarmState>();

/** Returns a function that removes the node. */
export function addAlarmState(state: LivingAlarmState): () => void {
  states.add(state);
  return () => states.delete(state);
}

export function alarmStates(): readonly LivingAlarmState[] {
  return [...states];
}

/** Number of nodes with the same state, including this one. */
export function countSharing({ shared }: Pick<LivingAlarmState, 'shared'>): number {
  return [...states].filter((other) => other.shared === shared).length;
}

/** Maximum of names in a status, which is one short line. */
const MOST_NAMES = 3;

interface AlarmStateShown {
  state: Pick<AlarmState, 'raised' | 'arming' | 'isDurable' | 'counting'>;
  /** Events needed to raise a group. */
  count: number;
  /** Number of nodes that share this state. */
  sharing: number;
  hasWrongSetting: boolean;
}

/** The level is first, faults follow. */
export function alarmStatus(RED: NodeAPI, shown: AlarmStateShown): NodeStatus {
  const faults = faultsOf(RED, shown);
  const level = levelStatus(RED, shown);
  const isQuiet = shown.state.raised().length === 0;
  const [fault] = faults;
  const look = isQuiet && fault !== undefined ? fault : level;
  const hints = shown.sharing > 1 ? [{ key: 'status.alarmShared', values: { nodes: shown.sharing } }] : [];
  const texts = [...[level, ...faults].map(wordsOf), ...hints];
  return texts.length === 1 ? level : withWords(RED, look, joint(texts));
}

function faultsOf(RED: NodeAPI, { state, hasWrongSetting }: AlarmStateShown): NodeStatus[] {
  return [
    ...(hasWrongSetting ? [status(RED, 'wrongSetting')] : []),
    ...(state.isDurable ? [] : [status(RED, 'notDurable')]),
  ];
}

function levelStatus(RED: NodeAPI, { state, count }: AlarmStateShown): NodeStatus {
  const raised = state.raised();
  if (raised.length > 0) return status(RED, 'alarmRaised', { groups: namesOf(raised) });
  const now = performance.now();
  const tests = state.arming.tests(now);
  const timeOf = (end: number): WordValue => momentOf(new Date(Date.now() + end - now));
  const all = tests.get('');
  if (all !== undefined) return status(RED, 'alarmOnTest', { time: timeOf(all) });
  const disarmed = state.arming.disarmed();
  if (disarmed.includes('')) return status(RED, 'alarmDisarmed');
  if (tests.size > 0) {
    const time = timeOf(Math.max(...tests.values()));
    return status(RED, 'alarmGroupsOnTest', { time, groups: namesOf([...tests.keys()]) });
  }
  if (disarmed.length > 0) return status(RED, 'alarmGroupsDisarmed', { groups: namesOf(disarmed) });
  const [counting] = state.counting();
  if (counting !== undefined)
    return status(RED, 'alarmCounting', { group: counting.group, events: counting.events, count });
  return status(RED, 'alarmArmed');
}

function namesOf(groups: readonly string[]): string {
  const names = groups.slice(0, MOST_NAMES).join(', ');
  return groups.length > MOST_NAMES ? `${names}, +${groups.length - MOST_NAMES}` : names;
}

const SECOND = 1000;

/** Unreadable values are replaced by defaults: an alarm with default settings is better than none. */
export function settingsOf(properties: Properties): AlarmSettings {
  const seconds = (name: string, byDefault: number, least: number): number =>
    Math.min(LONGEST_HOLD, numberOf(properties, name, byDefault, least));
  return {
    group: groupingOf(properties) ?? 'site',
    hold: seconds('hold', 30, 1) * SECOND,
    ignoreOlder: numberOf(properties, 'ignoreOlder', 300),
    count: Math.min(MOST_COUNTED, Math.floor(numberOf(properties, 'count', 1, 1))),
    within: seconds('within', 60, 1) * SECOND,
    classes: idsIn(textOf(properties, 'classes')),
    sandbox: flagOf(properties, 'sandbox'),
    repeat: seconds('repeat', 60, 0) * SECOND,
  };
}

/** Undefined for an unknown value, which means that the flow was edited by hand. */
export function groupingOf(properties: Properties): Grouping | undefined {
  const wanted = textOf(properties, 'group').trim() || 'site';
  return GROUPINGS.find((grouping) => grouping === wanted);
}

/** Undefined for an invalid key. A node without key and name has a state of its own. */
export function keyOf(properties: Properties, id: string): string | undefined {
  const key = textOf(properties, 'key').trim() || keyFromName(textOf(properties, 'name')) || id;
  return key === id || KEY.test(key) ? key : undefined;
}

type FlowMessage = NodeMessage & Record<string, unknown>;

/** The event in a message of *webhook in*: its copy survives nodes that replace the payload. */
export function eventIn(msg: FlowMessage): JsonRecord {
  if (isRecord(msg.event)) return msg.event;
  return isRecord(msg.payload) && !Buffer.isBuffer(msg.payload) ? msg.payload : {};
}

/**
 * JSON with the facts of the event, stored with the state that it raises; undefined where the facts are not
 * JSON.
 * @param most maximum of characters: a longer text loses the event, then all but the delivery id, which is
 *   needed to settle it
 */
export function raisedJson(webhook: JsonRecord, event: JsonRecord, most: number): string | undefined {
  try {
    return [
      { webhook, event },
      { webhook, event: {} },
      { webhook: { deliveryId: webhook['deliveryId'] }, event: {} },
    ]
      .map((facts) => JSON.stringify(facts))
      .find((json) => json.length <= most);
  } catch {
    return undefined;
  }
}

/** Turns the message of an event into one of a state; its other properties stay. */
export function becomeState(msg: FlowMessage, group: string, raised: boolean): void {
  msg.event = eventIn(msg);
  msg.payload = raised;
  msg.topic = group;
}

/** Message of a state change that no message caused, with `webhook` and `event` of the event that raised it. */
export function stateMessage({ group, raised, json }: StateMessage): NodeMessage {
  const facts: unknown = json === undefined ? {} : JSON.parse(json);
  const { webhook, event } = isRecord(facts) ? facts : {};
  const message: FlowMessage = { payload: raised, topic: group };
  if (isRecord(webhook)) message.webhook = webhook;
  if (isRecord(event)) message.event = event;
  return message;
}
