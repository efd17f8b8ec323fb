import type { NodeAPI, NodeStatus } from 'node-red';
import type { AlarmState } from '../../lib/alarms/alarm-state';
import { clockTime, status } from '../support/status';

/** Names in a status: a line has room for few. */
const MOST_NAMES = 3;

export interface AlarmStateShown {
  state: Pick<AlarmState, 'raised' | 'arming' | 'isDurable' | 'counting'>;
  /** Events that raise a group. */
  count: number;
  /** Nodes that have this state. */
  sharing: number;
  hasWrongSetting: boolean;
}

/** The level comes first; what is wrong stands behind it. */
export function alarmStatus(RED: NodeAPI, shown: AlarmStateShown): NodeStatus {
  const faults = faultsOf(RED, shown);
  const level = levelStatus(RED, shown);
  const isQuiet = shown.state.raised().length === 0;
  const [fault] = faults;
  const look = isQuiet && fault !== undefined ? fault : level;
  const hints = shown.sharing > 1 ? [RED._('status.alarmShared', { nodes: shown.sharing })] : [];
  const texts = [level, ...faults].map(({ text = '' }) => (text.startsWith('status.') ? RED._(text) : text));
  if (texts.length + hints.length === 1) return level;
  const text = [...texts, ...hints].reduce((first, second) => RED._('status.joint', { first, second }));
  return { ...look, text };
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
  const timeOf = (end: number): string => clockTime(new Date(Date.now() + end - now));
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
