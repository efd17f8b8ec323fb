import type { NodeAPI, NodeStatus } from 'node-red';
import type { AlarmState } from '../../lib/alarms/alarm-state';
import { joint, momentOf, status } from '../support/status';
import { withWords, wordsOf, type WordValue } from '../support/status-words';

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
