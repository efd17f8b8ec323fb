import { stationKey } from '../../support/rules';
import { trimmed } from '../../support/editor/validate';
import { own, present, said } from '../list/row.editor';
import type { EventHistory, SidebarRow } from '../overview';

/** States that a person is told of as a problem, in the words of that. */
const PROBLEMS: Partial<Record<string, string>> = {
  conflict: 'shared.problem.conflict',
  stale: 'shared.problem.too-old',
  other: 'shared.problem.other',
};

/** Why an event is where it is, and what there is to do. */
export function reasonOf({ why, state }: SidebarRow): string {
  return said(why ?? PROBLEMS[state] ?? `rvm-sidebar.opened.state.${state}`);
}

/** What else there is to know of an event. @param webhook the one that has it, once that is known */
export function factsOf(row: SidebarRow, webhook: EventHistory['webhook']): JQuery {
  const { time, attempts, station, rule, site, camera } = row;
  const most = webhook?.maxAttempts ?? undefined;
  const facts: [name: string, value: string][] = [
    ['received', new Date(time).toLocaleString()],
    ['webhook', webhook === null ? '' : present([webhook.title, webhook.path], ' · ')],
    ['attempts', most === undefined ? String(attempts) : own('opened.attemptsOf', { count: attempts, most })],
    ['station', stationOf(station)],
    ['place', present([site, camera], ' · ')],
    ['rule', present([rule, row.class], ' · ')],
  ];
  const shown = facts.filter(([, value]) => value !== '');
  return $('<dl class="rvm-facts">').append(
    shown.flatMap(([name, value]) => [$('<dt>').text(own(`opened.fact.${name}`)), $('<dd>').text(value)]),
  );
}

/** Its name, with the key that stands in messages. */
function stationOf(key: string): string {
  const name = stationName(key);
  return name === '' || name === key ? key : `${name} (${key})`;
}

function stationName(key: string): string {
  let found = '';
  RED.nodes.eachConfig((node) => {
    if (node.type === 'rvm-central-station' && stationKey(node) === key) found = trimmed(node.name);
  });
  return found;
}
