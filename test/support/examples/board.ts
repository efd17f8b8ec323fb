import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { EventRow } from '../../../lib/inbox/store/stored-message';
import type { HistoryEntry } from '../../../lib/inbox/model';
import { openBoard } from '../editor/alarm-board';
import { testBrowser, type TestBrowser } from '../editor/browser';
import { PHRASE } from '../node-red/flows';
import { inboxesOpen } from '../node-red/inboxes-open';
import {
  entrance,
  type FlowNode,
  flowNode,
  inject,
  NodeRed,
  type NodeRedVersion,
  probe,
} from '../node-red/node-red';
import { needs, type Program } from '../suite/programs';
import { eventually, PATIENCE } from '../time/patience';
import { alarmMessage, post } from '../webhook/alarm-message';
import { withChanges, withConstants } from './example-run';
import { example, packagesFor } from './examples';

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

/** Example 10 in a Node-RED and a browser, from the first test of a group to the last. */
interface BoardOfTests {
  browser: TestBrowser;
  nodeRed: NodeRed;
  /** The board; absent where the group opens it by itself. */
  page: Page;
  /** What the pages have told. */
  errors: string[];
  /** Opens the board once more, in a browser of its own. @param operator who sits before it */
  open: (operator?: string, options?: Parameters<typeof openBoard>[2]) => Promise<Page>;
  /** The page with the site plan, once it shows something of this selector. */
  openPlan: (shown?: string, options?: Parameters<TestBrowser['newPage']>[0]) => Promise<Page>;
}

interface AtBoard {
  /** Absent where the group deploys and opens the board by itself. */
  flow?: FlowNode[];
  /** Who sits before it. */
  operator?: string;
  version?: NodeRedVersion;
  /** What is needed beside a browser. */
  programs?: Program[];
}

/** A group of tests at the board; skipped where there is no Chromium. Its pages have told no error when it ends. */
export function describeBoard(
  title: string,
  { flow, operator, version, programs = [] }: AtBoard,
  tests: (board: BoardOfTests) => void,
): void {
  const options = { palette: packagesFor('10'), ...(version !== undefined && { version }) };
  describe(`example 10, ${title}${version === undefined ? '' : `, on Node-RED ${version}`}`, () => {
    const board = { errors: [] as string[] } as BoardOfTests;

    before(async function () {
      needs(this, 'chromium', ...programs);
      [board.browser, board.nodeRed] = await Promise.all([testBrowser(), NodeRed.start(options)]);
      if (flow === undefined) return;
      await board.nodeRed.deploy(flow);
      await inboxesOpen(board.nodeRed);
      board.page = await board.open(operator);
    });

    after(async () => {
      await board.browser?.close();
      await board.nodeRed?.stopAndRemove();
    });

    board.open = (who, pageOptions) =>
      openBoard(board.browser, board.nodeRed, { errors: board.errors, operator: who, ...pageOptions });
    board.openPlan = async (shown = '.rvm-camera', pageOptions = {}) => {
      const plan = await board.browser.newPage({ viewport: { width: 1366, height: 768 }, ...pageOptions });
      plan.setDefaultTimeout(PATIENCE);
      plan.on('pageerror', (error) => board.errors.push(error.message));
      await plan.goto(`${board.nodeRed.url}/dashboard/plan`);
      await plan.locator(shown).first().waitFor();
      return plan;
    };

    tests(board);

    it('runs without an error in the browser', () => assert.deepEqual(board.errors, []));
  });
}
