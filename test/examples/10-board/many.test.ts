import assert from 'node:assert/strict';
import { letIn } from '../../support/editor/alarm-board';
import { boardFlow, describeBoard, postAlarm, trailOf } from '../../support/examples/board';
import { eventually, soon } from '../../support/time/patience';

const MANY = 200;
const SITES = 12;

describeBoard(`${MANY} open alarms at once`, { flow: boardFlow(), operator: 'Anna' }, (board) => {
  /** Milliseconds from a key to the picture that shows what it does, the fastest of ten: the others tell of the machine. */
  const keyTakes = (): Promise<number> =>
    board.page.evaluate(`(async () => {
      const list = document.querySelector('.rvm-list');
      const took = [];
      for (let press = 0; press < 10; press += 1) {
        const began = performance.now();
        list.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        took.push(performance.now() - began);
      }
      return Math.min(...took);
    })()`);
  const lines = (): Promise<number> => board.page.locator('.rvm-list li').count();

  before(async () => {
    const site = (count: number): string => `Site ${String(count % SITES).padStart(2, '0')}`;
    const all = Array.from({ length: MANY }, (_, count) =>
      postAlarm(board.nodeRed, { eventRuleName: `Alarm ${count}`, locationName: site(count) }),
    );
    await Promise.all(all);
  });

  it('shows all of them, each delivered once, and nothing waits behind a full window', async () => {
    await eventually(async () => (await lines()) === MANY, 'all lines');
    await board.page.locator('.rvm-count', { hasText: `${MANY} open, ${MANY} unclaimed` }).waitFor();
    const rows = await trailOf(board.nodeRed);
    assert.ok(rows.every(({ state, attempts }) => state === 'leased' && attempts === 1));
  });

  it('takes hardly longer for an arrow key than with the alarms of one site', async () => {
    await board.page.keyboard.press('Home');
    const many = await keyTakes();
    await board.page.locator('.rvm-sites button', { hasText: 'Site 03' }).click();
    await board.page.keyboard.press('Home');
    const few = await keyTakes();
    await board.page.locator('.rvm-sites button', { hasText: 'Site 03' }).click();
    assert.ok(many < few * 5, `${many} ms with ${MANY} lines, ${few} ms with those of one site`);
  });

  it('scrolls to the line that the keys have chosen', async () => {
    await board.page.keyboard.press('Home');
    for (let press = 0; press < 5; press += 1) await board.page.keyboard.press('PageDown');
    const isSeen = await board.page.evaluate(`(() => {
      const line = document.querySelector('.rvm-chosen').getBoundingClientRect();
      const list = document.querySelector('.rvm-list').getBoundingClientRect();
      return line.top >= list.top - 1 && line.bottom <= list.bottom + 1;
    })()`);
    assert.ok(isSeen);
  });

  it('asks for the video of an alarm that is looked at alone', async () => {
    const asked = (): number => [...board.nodeRed.log.matchAll(/DEVICE_NOT_FOUND/g)].length;
    await board.page.getByText('No picture:').waitFor();
    assert.ok(asked() < 20, `${asked()} pictures`);
  });

  it('counts them by site, and shows those of one site alone', async () => {
    const sites = board.page.locator('.rvm-sites button');
    assert.equal(await sites.count(), SITES);
    await sites.filter({ hasText: 'Site 03' }).click();
    await eventually(async () => (await lines()) === Math.ceil((MANY - 3) / SITES), 'those of one site');
    await sites.filter({ hasText: 'Site 03' }).click();
  });

  it('takes a claim and one more alarm as soon as ever', async () => {
    await board.page.keyboard.press('End');
    await board.page.keyboard.press('a');
    await soon(board.page.locator('.rvm-chosen', { hasText: 'claimed by Anna' }).waitFor());
    await postAlarm(board.nodeRed, { eventRuleName: 'One more' });
    await letIn(board.page, 'One more');
  });
});
