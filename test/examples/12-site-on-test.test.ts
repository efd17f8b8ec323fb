import assert from 'node:assert/strict';
import { eventOf, ExampleRun } from '../support/examples/example-run';
import { eventually } from '../support/time/patience';

/** Of the sandbox: the site that the buttons of the example name, and another. */
const SITE = 'SANDBOX Harbour Depot';
const OTHER_SITE = 'SANDBOX Solar Park East';

describe('example 12, site on test until', () => {
  const run = ExampleRun.ofGroup('12', {
    beside: {
      alarm: 'alarm',
      extended: 'lasts longer',
      held: 'held back',
      meanwhile: 'meanwhile',
      'refused-debug': 'refused',
      unsettled: 'not settled',
    },
    doors: { tell: 'alarm-state' },
  });

  /** Where an alarm of a site comes out, and why it is held back. */
  async function wayOf(site: string): Promise<string> {
    const { cameras, sites } = await run.sandbox.state();
    const siteId = sites.find(({ name }) => name === site)?.id;
    const camera = cameras.find((each) => each.siteId === siteId)?.id ?? assert.fail(`no ${site}`);
    const { way, msg } = await run.wayOf({ camera }, ['alarm', 'lasts longer', 'held back']);
    assert.equal(eventOf(msg).locationName, site);
    return way;
  }

  it('the button puts its site on test, and no other', async () => {
    await run.press('start');
    assert.equal(await wayOf(SITE), 'held back: test');
    assert.equal(await wayOf(OTHER_SITE), 'alarm');
  });

  it('a test goes on after Node-RED was killed', async () => {
    await run.restart('SIGKILL');
    assert.equal(await wayOf(SITE), 'held back: test');
  });

  it('another button lists what came at the site', async () => {
    await run.press('sofar');
    const { payload } = await run.nodeRed.message('meanwhile');
    const rows = payload as string[];
    assert.equal(rows.length, 2);
    for (const row of rows) assert.match(row, /^\d{4}-.*Z SANDBOX .*\(start\)$/);
  });

  it('the other button ends the test', async () => {
    await run.press('stop');
    await eventually(async () => (await wayOf(SITE)) === 'alarm', 'an alarm that is let through');
  });

  for (const minutes of [-1, 'an hour', undefined]) {
    it(`${String(minutes)} as minutes is refused: the site is not on test`, async () => {
      const count = run.nodeRed.at('refused').length;
      await run.enter('tell', { topic: 'test', group: SITE, minutes });
      await run.nodeRed.until(() => run.nodeRed.at('refused').length > count, 'the refusal');
      assert.notEqual(await wayOf(SITE), 'held back: test');
    });
  }

  it('settles what raises a site, what is held back, and all else', () => {
    assert.deepEqual(run.nodeRed.at('not settled'), []);
  });
});
