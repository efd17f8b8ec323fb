import {
  GROUPINGS,
  LONGEST_HOLD,
  MOST_COUNTED,
  type AlarmSettings,
  type Grouping,
} from '../../lib/alarms/settings';
import { idsIn } from '../../lib/message/event-filter';
import { KEY, keyFromName } from '../support/rules';
import { flagOf, numberOf, textOf, type Properties } from '../support/settings';

const SECOND = 1000;

/** What cannot be read has its default: better an alarm as the defaults have it than none. */
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

/** Undefined for a word that says nothing: the flow was edited by hand. */
export function groupingOf(properties: Properties): Grouping | undefined {
  const wanted = textOf(properties, 'group').trim() || 'site';
  return GROUPINGS.find((grouping) => grouping === wanted);
}

/** Undefined where it cannot be one. A node without a name has a state of its own. */
export function keyOf(properties: Properties, id: string): string | undefined {
  const key = textOf(properties, 'key').trim() || keyFromName(textOf(properties, 'name')) || id;
  return key === id || KEY.test(key) ? key : undefined;
}
