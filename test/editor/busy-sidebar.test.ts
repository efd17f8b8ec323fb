import assert from 'node:assert/strict';
import type { Locator, Request } from 'playwright-core';
import {
  DEAD,
  EVENTS,
  EXHAUSTED,
  busyInbox,
  ODD_CAMERA,
  STATIONS,
  TROUBLED,
  leaveRows,
  showSidebar,
} from '../support/editor/sidebar';
import { describeInEditor } from '../support/editor/in-editor';
import { PATH, PHRASE } from '../support/node-red/flows';
import { eventually } from '../support/time/patience';
import { alarmMessage, post } from '../support/webhook/alarm-message';

/** Of Node-RED 5, which gives the sidebar half of its height: there the way to a part has to be in sight, and no more. */
const HALF = 400;

describeInEditor('the sidebar after a busy night', busyInbox(), (editor) => {
  const row = (list: string): Locator => editor.page.locator(`.rvm-${list} .rvm-row`);
  const discard = (index: number): Locator => row('dead').nth(index).locator('[data-action="discard"]');
  const chip = (part: string): Locator => editor.page.locator(`.rvm-chip[data-part="${part}"]`);
  const has = (place: string, hasText: string | RegExp): Promise<void> =>
    editor.page.locator(place, { hasText }).waitFor();
  const found = (text: RegExp): Promise<void> => has('.rvm-found', text);
  const nameOf = (place: Locator): Promise<string | null> => place.getAttribute('aria-label');
  const focused = (): Promise<string> =>
    editor.page.evaluate(`document.activeElement.getAttribute('aria-label') ?? ''`);

  /** Whether it can be seen, all of it. */
  const isInSight = (place: Locator): Promise<boolean> =>
    place.evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      const pane = element.closest('.rvm-sidebar')?.getBoundingClientRect();
      const bar = document.querySelector('.rvm-top')?.getBoundingClientRect();
      const begin = element.closest('.rvm-top') === null ? (bar?.bottom ?? 0) : (bar?.top ?? 0);
      return pane !== undefined && top >= begin && bottom <= pane.bottom;
    });

  /** Each with a copy of other content. */
  async function conflicts(count: number): Promise<void> {
    for (let made = 0; made < count; made += 1) {
      const message = alarmMessage({ cameraName: `Copied ${made}` });
      const payload = { ...(message.payload as object), cameraName: `Copy ${made}` };
      for (const each of [message, { ...message, payload }])
        assert.equal((await post(`${editor.nodeRed.url}${PATH}`, each, PHRASE)).status, 200);
    }
  }

  before(async () => {
    await editor.page.setViewportSize({ width: 1366, height: 768 });
    await showSidebar(editor.page);
    await row('events').first().waitFor();
  });
  afterEach(() => leaveRows(editor.page));

  it('tells the totals of what needs hands, of events and of stations, and with how many of these something is wrong', async () => {
    await has('.rvm-chip[data-part="stations"]', String(STATIONS));
    assert.match(await chip('hands').innerText(), /To do\s*20\d/);
    assert.match(await chip('events').innerText(), /Events\s*5,000/);
    assert.equal(await nameOf(chip('stations')), `Stations 15, with a fault: ${TROUBLED}`);
    for (const part of ['hands', 'events', 'stations']) assert.ok(await isInSight(chip(part)), part);
  });

  it('has what needs hands and the newest event above the fold, and the way to all where there is little room', async () => {
    assert.ok((await isInSight(editor.page.locator('#rvm-heading-dead'))) || (await height()) < HALF);
    if ((await height()) >= HALF) assert.ok(await isInSight(row('events').first()));
    await chip('events').click();
    assert.ok(await isInSight(row('events').first()));
    await chip('stations').click();
    assert.ok(await isInSight(row('stations').first()));
  });

  const height = (): Promise<number> => editor.page.evaluate(`$('.rvm-sidebar').height()`);

  it('shows a station in one line, whose state is a form and a word as well as a colour', async () => {
    const stations = row('stations');
    assert.equal(await stations.count(), STATIONS);
    const lines = await stations.locator('summary').all();
    for (const line of lines) assert.ok(((await line.boundingBox())?.height ?? 99) < 24);
    const forms = await stations
      .locator('summary > .fa')
      .evaluateAll((icons) => icons.map(({ className }) => className));
    assert.equal(new Set(forms).size, 2);
    assert.match(await stations.nth(1).innerText(), /Branch 1\s*RVM_NOT_SET is not set\s*last /);
    assert.match(await stations.nth(3).innerText(), /Branch 3\s*sandbox\s*last /);
  });

  it('has room to type in where it is 180 pixels wide', async () => {
    const filter = editor.page.locator('.rvm-filter');
    assert.equal(await editor.isCutAt(180), false);
    await editor.page.evaluate(`$('.rvm-sidebar').css({ width: '180px' })`);
    const width = (await filter.boundingBox())?.width ?? 0;
    await editor.page.evaluate(`$('.rvm-sidebar').css({ width: '' })`);
    assert.ok(width >= 90, `${width} pixels`);
  });

  it('finds one event of thousands as its camera is typed, and says how many there are', async () => {
    await editor.page.locator('.rvm-filter').pressSequentially(ODD_CAMERA.toLowerCase());
    await found(/^Matching: 1 of 5,000$/);
    await row('events').filter({ hasText: ODD_CAMERA }).waitFor();
    assert.equal(await row('events').count(), 1);
    assert.equal(await editor.page.locator('.rvm-dead').isVisible(), false);
    await editor.page.locator('.rvm-filter').press('Escape');
    await row('events').nth(9).waitFor();
  });

  it('shows more events where somebody wants to see them', async () => {
    await editor.page.locator('.rvm-events + .rvm-more').click();
    await row('events').nth(149).waitFor();
  });

  it('names the alarm in each of its buttons', async () => {
    await editor.page.locator('.rvm-dead + .rvm-more').click();
    await row('dead').nth(9).waitFor();
    const buttons = await row('dead').locator('.rvm-actions button').all();
    const names = await Promise.all(buttons.map(async (button) => (await nameOf(button)) ?? ''));
    assert.equal(new Set(names).size, names.length);
    for (const name of names) assert.match(name, /^(Discard|Deliver again): .+, Gate \d · .+, \d+:\d+:\d+/);
  });

  it('leaves a button where it is, and with its alarm, while others come, which wait until they are wanted', async () => {
    await discard(1).scrollIntoViewIfNeeded();
    await discard(1).hover();
    const look = () => Promise.all([discard(1).boundingBox(), nameOf(discard(1))]);
    const before = await look();
    await conflicts(5);
    const waiting = editor.page.locator('.rvm-new');
    await has('#rvm-heading-dead', String(DEAD + 5));
    await waiting.filter({ hasText: /^1\d new$/ }).waitFor();
    assert.deepEqual(await look(), before);
    await waiting.click();
    await row('dead').filter({ hasText: 'Copy 4' }).waitFor();
    await row('events').filter({ hasText: 'Copied 4' }).waitFor();
    assert.equal(await waiting.isVisible(), false);
  });

  it('has a discarded alarm back, of which the runtime has not heard then', async () => {
    const asked: string[] = [];
    const note = (request: Request): void => {
      if (request.method() === 'POST') asked.push(request.url());
    };
    editor.page.on('request', note);
    await discard(0).click();
    const undo = row('dead').first().locator('[data-action="undo"]');
    assert.match(await row('dead').first().innerText(), /Discarded\./);
    await undo.click();
    await discard(0).waitFor();
    editor.page.off('request', note);
    assert.deepEqual(
      asked.filter((url) => url.includes('dead-letters')),
      [],
    );
  });

  it('discards after a while, and the focus goes to the next row', async () => {
    await editor.page.keyboard.press('Shift');
    await discard(0).focus();
    const [name, next] = [await nameOf(discard(0)), await nameOf(discard(1))];
    await editor.page.keyboard.press('Enter');
    assert.equal(await focused(), (name ?? '').replace('Discard', 'Undo'));
    await eventually(async () => (await focused()) === next, 'the focus on the next row', 100);
  });

  it('keeps the focus over a refresh', async () => {
    await discard(2).focus();
    const before = await nameOf(discard(2));
    await conflicts(1);
    await editor.page.locator('.rvm-new').waitFor();
    assert.equal(await focused(), before);
  });

  it('says how many wait where that covers no row and no heading', async () => {
    await discard(2).hover();
    const message = alarmMessage({ cameraName: 'Further' });
    assert.equal((await post(`${editor.nodeRed.url}${PATH}`, message, PHRASE)).status, 200);
    await editor.page.locator('.rvm-new').waitFor();
    const bottoms = ['.rvm-new', '.rvm-top'].map(async (place) => {
      const box = await editor.page.locator(place).boundingBox();
      return (box?.y ?? 0) + (box?.height ?? 0);
    });
    const [button = Infinity, bar = 0] = await Promise.all(bottoms);
    assert.ok(button < bar, `${button} below ${bar}`);
  });

  it('asks before all that match are discarded, with their number, and does nothing where that is not wanted', async () => {
    await editor.page.locator('.rvm-filter').fill('Copy');
    await found(/^Matching: 6 of/);
    const button = editor.page.locator('[data-action="discard-all"]');
    await button.filter({ hasText: /\(6\)|\(5\)/ }).click();
    const question = editor.page.locator('.red-ui-notification');
    assert.match(
      await question.innerText(),
      /Discard the dead letters and conflicts that match "Copy" \([56]\)\?/,
    );
    await editor.page.locator('.rvm-ask-no').click();
    await question.waitFor({ state: 'detached' });
    await button.click();
    await editor.page.locator('.rvm-ask-yes').click();
    await editor.page.getByText(/^Discarded: [56]\.$/).waitFor();
    await editor.page.locator('.rvm-filter').fill('');
    await editor.page.locator('.rvm-found').waitFor({ state: 'hidden' });
  });

  it('delivers all that can be delivered again, beyond those that are shown, after a question with their number', async () => {
    const from = editor.nodeRed.seen.length;
    await editor.page.locator('[data-action="retry-all"]', { hasText: `(${EXHAUSTED})` }).click();
    await has('.red-ui-notification', `Deliver dead letters again (${EXHAUSTED})?`);
    await editor.page.locator('.rvm-ask-yes').click();
    await editor.page.getByText(`Delivered again: ${EXHAUSTED}.`).waitFor();
    await editor.nodeRed.until(() => editor.nodeRed.at('alarms', from).length > 0, 'the events once more');
    await has('#rvm-heading-dead', new RegExp(` (${DEAD - EXHAUSTED}|${DEAD - EXHAUSTED - 1})$`));
  });

  it('discards also where the editor is left before the time is over', async () => {
    const before = Number(await editor.page.locator('#rvm-heading-dead .rvm-count').innerText());
    await discard(0).click();
    await row('dead').first().locator('[data-action="undo"]').waitFor();
    await editor.page.goto('about:blank');
    const left = async (): Promise<number> => {
      const answer = await fetch(`${editor.nodeRed.url}/rvm/dead-letters`);
      return ((await answer.json()) as { letters: unknown[] }).letters.length;
    };
    await eventually(async () => (await left()) === before - 1, 'the end of the dead letter', 100);
  });

  it('answers of thousands of events with no more than of fifty', async () => {
    const answer = await fetch(`${editor.nodeRed.url}/rvm/overview`);
    const bytes = (await answer.arrayBuffer()).byteLength;
    assert.ok(bytes < 100 * 1024, `${bytes} bytes for ${EVENTS} events`);
  });
});
