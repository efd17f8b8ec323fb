import assert from 'node:assert/strict';
import { choose, lineOf } from '../../support/editor/alarm-board';
import { boardFlow, describeBoard, postAlarm, settledWhen } from '../../support/examples/board';
import { withChanges } from '../../support/examples/example-run';
import { inboxesOpen } from '../../support/node-red/inboxes-open';

const UNKNOWN = { delivery: 'nobody knows this', deliveryType: 'str' };
/** The board, whose inbox knows nothing of what the operators settle and note. */
const FLOW = withChanges(boardFlow({ undoSeconds: 1 }), { noted: UNKNOWN, judged: UNKNOWN });

describeBoard(
  'where an inbox does not take what an operator says',
  { flow: FLOW, operator: 'Anna' },
  (board) => {
    before(async () => {
      await postAlarm(board.nodeRed, { eventRuleName: 'Fence' });
      await lineOf(board.page, 'Fence').waitFor();
      await choose(board.page, 'Fence');
    });

    for (const [what, name] of [
      ['a claim', /^claim/],
      ['a verdict', /^real/],
    ] as const)
      it(`says that ${what} was not stored, and shows the alarm as before`, async () => {
        await board.page.locator('.rvm-acts').getByRole('button', { name }).click();
        await board.page.getByText('Not stored (UNKNOWN_DELIVERY): try again.').waitFor();
        await lineOf(board.page, 'Fence').getByText('new', { exact: true }).waitFor();
        await board.page.locator('.rvm-count', { hasText: '1 open, 1 unclaimed' }).waitFor();
      });

    it('gives a comment back that was not stored', async () => {
      const draft = board.page.getByPlaceholder('comment');
      await draft.fill('A cat');
      await draft.press('Enter');
      await board.page.locator('.rvm-told', { hasText: 'Not stored' }).waitFor();
      assert.equal(await draft.inputValue(), 'A cat');
    });

    it('settles the verdict of one operator where the comment of another was not stored meanwhile', async () => {
      await board.nodeRed.deploy(withChanges(boardFlow(), { noted: UNKNOWN }));
      await inboxesOpen(board.nodeRed);
      const [anna, ben] = [await board.open('Anna'), await board.open('Ben')];
      await Promise.all([anna, ben].map((each) => choose(each, 'Fence')));
      await ben.getByPlaceholder('comment').fill('A cat');
      await anna.locator('.rvm-acts').getByRole('button', { name: /^real/ }).click();
      await lineOf(ben, 'Fence').getByText('real, Anna').waitFor();
      await ben.getByPlaceholder('comment').press('Enter');
      await ben.getByText('Not stored (UNKNOWN_DELIVERY): try again.').waitFor();
      await settledWhen(board.nodeRed, 'Fence');
    });
  },
);
