import { boardFlow } from './board-flow';
import { withChanges } from './example-sandbox';
import { entrance, type FlowNode } from '../node-red/node-red';

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
