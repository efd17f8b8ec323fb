import assert from 'node:assert/strict';
import { choose, countTones, lineOf } from '../../support/editor/alarm-board';
import { boardWithDoors, describeBoard, raiseAtBoard, rowOf, type Row } from '../../support/examples/board';
import { inject } from '../../support/node-red/node-red';
import { eventually } from '../../support/time/patience';

describeBoard('what the board makes of a list', { flow: boardWithDoors() }, (board) => {
  let tones: () => Promise<number>;

  const tell = (...rows: Row[]): Promise<void> =>
    inject(board.nodeRed, 'tell', { topic: 'board', payload: { at: Date.now(), rows } });
  const hears = (text: string): Promise<void> =>
    board.page.locator('[aria-live=assertive]', { hasText: text }).waitFor({ state: 'attached' });

  before(async () => {
    tones = await countTones(board.page);
    await board.page.locator('.rvm-count').click();
    await board.page.getByText('Browsers give no sound').waitFor({ state: 'hidden' });
  });

  it('sounds for the alarm that ends a quiet night, and says it to a screen reader', async () => {
    await tell();
    await board.page.getByText('No open alarm').waitFor();
    await tell(rowOf('Fence'));
    await hears('New alarm: Fence, Gate 1, Depot');
    assert.equal(await tones(), 2);
  });

  it('says of several at once how many have escalated, and how many are new', async () => {
    const escalated = { escalated: true };
    await tell(rowOf('Fence'), rowOf('Gate'));
    await hears('New alarm: Gate');
    await tell(rowOf('Fence', escalated), rowOf('Gate', escalated));
    await hears('Alarms: 2 escalated');
    await tell(rowOf('Fence', escalated), rowOf('Gate', escalated), rowOf('Yard'));
    await hears('New alarm: Yard');
    await tell(rowOf('Yard', escalated), rowOf('Dock'), rowOf('Quay'));
    await hears('Alarms: 1 escalated, 2 new');
  });

  describe('escalated', () => {
    const escalated = { escalated: true };
    const ago = (minutes: number): Row => ({ time: new Date(Date.now() - minutes * 60_000).toISOString() });
    const gate = rowOf('Gate', ago(2));
    const yard = rowOf('Yard', ago(1));
    const forgotten = rowOf('Forgotten', { ...ago(9), ...escalated });
    const lines = (): Promise<string[]> => board.page.locator('.rvm-what b').allInnerTexts();
    const shows = (...rules: string[]): Promise<void> =>
      eventually(async () => String(await lines()) === String(rules), `lines ${String(rules)}`, 50);

    before(async () => {
      await board.page.mouse.move(0, 0);
      await board.page.keyboard.press('Escape');
    });

    it('counts them in its head', async () => {
      await tell(gate, forgotten);
      await board.page.locator('.rvm-count', { hasText: /^2 open, 2 unclaimed, 1 escalated$/ }).waitFor();
    });

    it('shows them above the others, the newest first among them', async () => {
      await tell(gate, forgotten, { ...yard, ...escalated }, rowOf('Dock'));
      await shows('Yard', 'Forgotten', 'Dock', 'Gate');
      await board.page.locator('.rvm-more', { hasText: 'Escalated first' }).waitFor();
    });

    it('shows those that somebody has claimed among the others', async () => {
      await tell(gate, forgotten, { ...yard, ...escalated, claimedBy: 'Ben' });
      await shows('Forgotten', 'Yard', 'Gate');
    });

    it('moves no line under the hand for them: they wait behind a count', async () => {
      await tell(gate, yard);
      await shows('Yard', 'Gate');
      await lineOf(board.page, 'Gate').hover();
      await tell({ ...gate, ...escalated }, yard);
      await board.page.locator('.rvm-more', { hasText: '1 escalated: show' }).waitFor();
      assert.deepEqual(await lines(), ['Yard', 'Gate']);
      await board.page.mouse.move(0, 0);
      await shows('Gate', 'Yard');
    });

    it('finds them by that word', async () => {
      await tell({ ...gate, ...escalated }, yard);
      await board.page.getByLabel('Filter').fill('Escalated');
      await shows('Gate');
      await board.page.getByLabel('Filter').fill('');
    });
  });

  it('says of an alarm that Node-RED has not read yet to try again', async () => {
    await board.page.getByLabel('Operator').fill('Anna');
    await tell(rowOf('Early'));
    await choose(board.page, 'Early');
    await board.page.keyboard.press('a');
    await board.page.locator('.rvm-told', { hasText: 'Not read from the inbox yet: try again.' }).waitFor();
  });

  it('keeps what one operator has said where that of another is not stored', async () => {
    const row = await raiseAtBoard(board.nodeRed, 'Shared');
    const list = { payload: [{ ...row, history: [] }], minutes: 60 };
    const act = { key: 'example-10 shared', topic: 'claim', from: '', by: 'Anna' };
    await inject(board.nodeRed, 'list', list);
    await inject(board.nodeRed, 'hand', act);
    const comment = { ...act, topic: 'comment', by: 'Ben', note: 'A cat', at: 1 };
    await inject(board.nodeRed, 'failed', { ...comment, error: { code: 'STORE_FAILED' } });
    await inject(board.nodeRed, 'list', list);
    await board.page.keyboard.press('Escape');
    await lineOf(board.page, 'Shared').getByText('claimed by Anna').waitFor();
  });

  it('forgets nothing of an alarm that is in no list while not all can be read', async () => {
    const row = await raiseAtBoard(board.nodeRed, 'Unread', { cameraId: 'camera-of-unread' });
    await inject(board.nodeRed, 'list', { payload: [], incomplete: 'An inbox cannot be read.', minutes: 60 });
    await inject(board.nodeRed, 'list', { payload: [row], minutes: 60 });
    await inject(board.nodeRed, 'hand', { topic: 'show', key: 'example-10 unread' });
    const { event } = await board.nodeRed.message('video', ({ key }) => key === 'example-10 unread');
    assert.equal((event as { cameraId: string }).cameraId, 'camera-of-unread');
  });

  it('tells the end of a fault at once, where no alarm has changed meanwhile', async () => {
    const warning = board.page.getByText('The inbox cannot be read (STORE_FAILED)');
    await inject(board.nodeRed, 'list', { payload: [], minutes: 60 });
    await inject(board.nodeRed, 'list', { error: { code: 'STORE_FAILED' } });
    await warning.waitFor();
    await inject(board.nodeRed, 'list', { payload: [], minutes: 60 });
    await warning.waitFor({ state: 'hidden' });
  });

  it('shows both of two cameras that have one name at two sites, each with the alarms of its own', async () => {
    const plan = await board.openPlan('.rvm-plan');
    const camera = { name: 'Gate 1', online: true };
    const devices = ['Depot', 'Port'].map((site) => ({ ...camera, site, id: `camera at ${site}` }));
    const rows = ['Depot', 'Port', 'Port'].map((site, at) => rowOf(`Alarm ${at}`, { site }));
    await inject(board.nodeRed, 'plan', { devices, payload: { rows } });
    const texts = (): Promise<string[]> => plan.locator('.rvm-beside li').allInnerTexts();
    await eventually(async () => (await texts()).length === 2, 'both cameras');
    assert.deepEqual((await texts()).map((text) => text.replaceAll(/\s+/g, ' ')).toSorted(), [
      '▲ Gate 1: 2 alarms Port',
      '▲ Gate 1: alarm Depot',
    ]);
    await plan.close();
  });
});
