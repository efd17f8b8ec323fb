import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { choose, lineOf } from '../../support/editor/alarm-board';
import {
  boardFlow,
  describeBoard,
  postAlarm,
  saidOf,
  saidWhen,
  settledWhen,
  trailOf,
} from '../../support/examples/board';
import { inboxesOpen } from '../../support/node-red/inboxes-open';
import { SLOW_VERSIONS } from '../../support/suite/lanes';

/** What a browser can send that no button of the board sends. */
const STRANGE: readonly unknown[] = [
  { topic: 'judge', key: '<b>', by: 'Eve', verdict: 'real' },
  { topic: 'claim', key: {}, by: 'Eve' },
  { topic: 'comment', by: ['Eve'], note: {} },
  { topic: 'perhaps' },
  {},
];

for (const version of SLOW_VERSIONS)
  describeBoard('two operators at one board', { version }, (board) => {
    let anna: Page;
    let ben: Page;

    const both = (): Page[] => [anna, ben];
    const see = (text: string, state: string): Promise<unknown> =>
      Promise.all(both().map((page) => lineOf(page, text).getByText(state).waitFor()));
    const button = (page: Page, name: RegExp): ReturnType<Page['locator']> =>
      page.locator('.rvm-acts').getByRole('button', { name });

    async function open(): Promise<void> {
      anna = await board.open('Anna');
      ben = await board.open('Ben');
    }

    before(async () => {
      await board.nodeRed.deploy(boardFlow());
      await inboxesOpen(board.nodeRed);
      await open();
      for (const eventRuleName of ['Fence', 'Gate', 'Yard', 'Dock']) {
        const alarmId = `alarm of ${eventRuleName}`;
        await postAlarm(board.nodeRed, { eventRuleName, alarmId });
        await Promise.all(both().map((page) => lineOf(page, eventRuleName).waitFor()));
      }
    });

    it('asks who it is before anything is done', async () => {
      const nobody = await board.open();
      await choose(nobody, 'Fence');
      await button(nobody, /^claim/).click();
      await nobody.getByText('Write your name first.').waitFor();
      assert.equal(await nobody.evaluate('document.activeElement.placeholder'), 'your name');
      await nobody.close();
    });

    it('leaves each operator the own choice', async () => {
      await choose(anna, 'Fence');
      await choose(ben, 'Gate');
      assert.equal(await anna.locator('.rvm-alarm h2').innerText(), 'Fence');
    });

    it('shows at once to both who has claimed an alarm', async () => {
      await button(anna, /^claim/).click();
      await see('Fence', 'claimed by Anna');
    });

    it('says to the second of two who claim at the same moment that the first has it', async () => {
      await Promise.all(both().map((page) => choose(page, 'Gate')));
      await Promise.all(both().map((page) => button(page, /^claim/).click()));
      await see('Gate', 'claimed by');
      const winner = (await lineOf(anna, 'Gate').innerText()).includes('claimed by Anna') ? anna : ben;
      const [loser, name] = winner === anna ? [ben, 'Anna'] : [anna, 'Ben'];
      await loser.getByText(`Already claimed by ${name}.`).waitFor();
      await button(loser, new RegExp(`^take over from ${name}`)).waitFor();
      assert.equal(await winner.getByText('Already claimed').count(), 0);
    });

    it('refuses a release that comes after another has taken the alarm over, and says who has it', async () => {
      const isAnnas = await lineOf(anna, 'Gate').getByText('claimed by Anna').isVisible();
      const [former, present, name] = isAnnas ? [anna, ben, 'Ben'] : [ben, anna, 'Anna'];
      await button(present, /^take over from/).click();
      await see('Gate', `claimed by ${name}`);
      const by = isAnnas ? 'Anna' : 'Ben';
      await sendBy(former, { topic: 'release', key: 'example-10 alarm of Gate', by });
      await former.getByText(`Not released: claimed by ${name}.`).waitFor();
      await see('Gate', `claimed by ${name}`);
    });

    it('shows a comment to both', async () => {
      await choose(ben, 'Fence');
      await ben.getByPlaceholder('comment').fill('Guard is on the way');
      await button(ben, /^send/).click();
      await choose(anna, 'Fence');
      await anna.locator('.rvm-trail', { hasText: 'Ben Guard is on the way' }).waitFor();
    });

    it('takes a verdict back for ten seconds', async () => {
      await choose(anna, 'Yard');
      await button(anna, /^real/).click();
      await see('Yard', 'real, Anna');
      await button(anna, /^undo/).click();
      await see('Yard', 'new');
      assert.deepEqual(await saidWhen(board.nodeRed, 'Yard'), [['Anna', 'took back: real']]);
    });

    it('says to the second who judges that it is judged already, and by whom', async () => {
      await Promise.all(both().map((page) => choose(page, 'Fence')));
      await anna.getByPlaceholder('comment').fill('A cat');
      await Promise.all([button(anna, /^false alarm/).click(), button(ben, /^real/).click()]);
      const text = await Promise.any(
        both().map((page) => page.locator('.rvm-told', { hasText: 'Already' }).innerText()),
      );
      assert.match(text, /^Already (real|a false alarm), by (Anna|Ben)\.$/);
    });

    it('settles what was judged, once, and the line stays until nobody is in the list', async () => {
      const trail = await settledWhen(board.nodeRed, 'Fence');
      assert.equal(trail.attempts, 1);
      assert.equal(saidOf(trail).filter(([, said]) => /^(real|false)/.test(said ?? '')).length, 1);
      await Promise.all(
        both().map(async (page) => {
          await page.keyboard.press('Escape');
          await lineOf(page, 'Fence').waitFor({ state: 'hidden' });
        }),
      );
    });

    it('keeps claim, comment and verdict with who did it and when in the audit trail', async () => {
      const trail = await settledWhen(board.nodeRed, 'Fence');
      assert.deepEqual(saidOf(trail).slice(0, 2), [
        ['Anna', 'claimed'],
        ['Ben', 'Guard is on the way'],
      ]);
      assert.match(saidOf(trail)[2]?.join(' ') ?? '', /^(Anna false A cat|Ben real)$/);
      assert.equal(trail.history.find(({ step }) => step === 'settled')?.by, 'settle: verdict');
      for (const { time } of trail.history) assert.ok(Date.parse(time) > 0);
    });

    it('settles the end of an alarm that was judged, without a line for it', async () => {
      const eventEndTime = new Date().toISOString();
      await postAlarm(board.nodeRed, { eventRuleName: 'Fence', alarmId: 'alarm of Fence', eventEndTime });
      await settledWhen(board.nodeRed, 'Fence', 2);
      assert.equal(await lineOf(anna, 'Fence').count(), 0);
    });

    it('settles an end that came before the verdict together with its alarm', async () => {
      const eventEndTime = new Date().toISOString();
      await postAlarm(board.nodeRed, { eventRuleName: 'Dock', alarmId: 'alarm of Dock', eventEndTime });
      await lineOf(anna, 'Dock').getByText('ended').waitFor();
      await choose(anna, 'Dock');
      await button(anna, /^false alarm/).click();
      await settledWhen(board.nodeRed, 'Dock', 2);
    });

    it('drops what a browser sends that no button sends', async () => {
      for (const sent of STRANGE) await sendBy(anna, sent);
      await choose(anna, 'Yard');
      await anna.getByPlaceholder('comment').fill('after it');
      await button(anna, /^send/).click();
      assert.deepEqual((await saidWhen(board.nodeRed, 'Yard', 2)).at(-1), ['Anna', 'after it']);
      assert.doesNotMatch(JSON.stringify(await trailOf(board.nodeRed)), /Eve/);
      assert.doesNotMatch(board.nodeRed.log, /\[error\]/);
    });

    it('comes back with alarms, claims and comments after a kill, and with a verdict not yet settled taken back', async () => {
      await choose(ben, 'Yard');
      await button(ben, /^real/).click();
      await see('Yard', 'real, Ben');
      await board.nodeRed.stop('SIGKILL');
      await board.nodeRed.restart();
      await Promise.all(both().map((page) => page.close()));
      await open();
      await see('Gate', 'claimed by');
      await see('Yard', 'new');
      await choose(anna, 'Yard');
      await anna.locator('.rvm-trail', { hasText: 'Anna after it' }).waitFor();
      assert.equal(await anna.locator('.rvm-list li').count(), 2);
      await button(anna, /^false alarm/).click();
      const trail = await settledWhen(board.nodeRed, 'Yard');
      assert.deepEqual(saidOf(trail).at(-1), ['Anna', 'false']);
    });
  });

/** Sends what no button of the page would send now. */
async function sendBy(page: Page, sent: unknown): Promise<void> {
  await page.evaluate(`(() => {
    const { $socket } = document.querySelector('#app').__vue_app__._context.provides;
    $socket.emit('widget-send', 'rvm-example-10-alarms', ${JSON.stringify(sent)});
  })()`);
}
