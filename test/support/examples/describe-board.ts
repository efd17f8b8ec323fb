import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { openBoard } from '../editor/alarm-board';
import { testBrowser, type TestBrowser } from '../editor/browser';
import { inboxesOpen } from '../node-red/inboxes-open';
import { type FlowNode, NodeRed, type NodeRedVersion } from '../node-red/node-red';
import { needs, type Program } from '../suite/programs';
import { PATIENCE } from '../time/patience';
import { packagesFor } from './examples';

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
  /** Starts Node-RED again, with what it has kept. */
  startAgain: () => Promise<void>;
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
    board.startAgain = async () => {
      const { userDir, port } = board.nodeRed;
      board.nodeRed = await NodeRed.start({ ...options, userDir, port });
    };

    tests(board);

    it('runs without an error in the browser', () => assert.deepEqual(board.errors, []));
  });
}
