import assert from 'node:assert/strict';
import { eventOf, ExampleRun, webhookOf, type RunOptions } from '../support/examples/example-run';
import { entrance, inject, type FlowNode } from '../support/node-red/node-red';

type Message = Record<string, unknown>;

const ON_DISK = `contextStorage: { default: { module: 'localfilesystem' } },`;
/** Of the sandbox: the site that the button of the example names, and another. */
const SITE = 'SANDBOX Harbour Depot';
const OTHER_SITE = 'SANDBOX Solar Park East';

/** `put` as a button does, and `spoil`: what the context keeps is replaced. */
function withEntrances(nodes: FlowNode[]): FlowNode[] {
  const func = `flow.set('tests', msg);`;
  const spoiled = { id: 'spoiled', type: 'function', func, outputs: 0, libs: [], x: 0, y: 0, wires: [] };
  const further = [...entrance('put', 'rvm-example-12-keep'), ...entrance('spoil', 'spoiled'), spoiled];
  return [...nodes, ...further.map((node) => ({ ...node, z: 'rvm-example-12-tab' }))];
}

function options(settings: string): RunOptions {
  return {
    settings,
    beside: {
      'rvm-example-12-alarm': 'alarm',
      'rvm-example-12-log': 'on test',
      'rvm-example-12-meanwhile': 'meanwhile',
    },
    changes: { 'rvm-example-12-tick': { repeat: '0.2' } },
    edit: withEntrances,
  };
}

describe('example 12, site on test until', () => {
  let run: ExampleRun;
  let cameras: Map<string, string>;

  before(async () => {
    run = await ExampleRun.start('12', options(ON_DISK));
    cameras = await camerasOf(run);
  });

  let cleanings = 0;

  /** Ends the test of the site, and waits until the flow has seen to that: one that begins before would be the same test. */
  afterEach(async () => {
    cleanings += 1;
    const last = `site ${cleanings}`;
    await put(0);
    await put(0, last);
    await run.nodeRed.message('meanwhile', ({ site }) => site === last);
  });

  after(() => run.stop());

  /** A camera of each site, by the name of the site. */
  async function camerasOf({ sandboxUrl }: ExampleRun): Promise<Map<string, string>> {
    const response = await fetch(`${sandboxUrl}/sandbox/state`);
    const state = (await response.json()) as {
      cameras: { id: string; siteId: string }[];
      sites: { id: string; name: string }[];
    };
    const idOf = (siteId: string): string => state.cameras.find((each) => each.siteId === siteId)?.id ?? '';
    return new Map(state.sites.map(({ id, name }) => [name, idOf(id)]));
  }

  async function put(minutes: unknown, site = SITE): Promise<void> {
    await inject(run.nodeRed, 'put', { payload: { site, minutes } });
  }

  /** Where an alarm of a site goes: to `alarm` or to `on test`. */
  async function wayOf(site: string): Promise<string> {
    const { messageId } = await run.raise({ camera: cameras.get(site) ?? assert.fail(`no ${site}`) });
    const isIt = (seen: { probe: string; msg: Message }): boolean =>
      ['alarm', 'on test'].includes(seen.probe) && webhookOf(seen.msg).messageId === messageId;
    await run.nodeRed.until(() => run.nodeRed.seen.some(isIt), 'the alarm');
    const seen = run.nodeRed.seen.find(isIt);
    assert.equal(eventOf(seen?.msg).locationName, site);
    return seen?.probe ?? '';
  }

  /** The list at the end of a test that began after that time. */
  function listAfter(time: number): Promise<Message> {
    const isIt = ({ topic, since }: Message): boolean => topic === 'test is over' && Number(since) >= time;
    return run.nodeRed.message('meanwhile', isIt);
  }

  const rowsOf = (msg: Message): string[] => msg.payload as string[];

  it('the button puts its site on test, and no other', async () => {
    await run.press('rvm-example-12-start');
    assert.equal(await wayOf(SITE), 'on test');
    assert.equal(await wayOf(OTHER_SITE), 'alarm');
  });

  it('the other button ends the test, and what came meanwhile is listed', async () => {
    const began = Date.now();
    await run.press('rvm-example-12-start');
    await wayOf(SITE);
    await wayOf(OTHER_SITE);
    await run.press('rvm-example-12-stop');
    const msg = await listAfter(began);
    assert.deepEqual([msg.site, rowsOf(msg).length], [SITE, 1]);
    assert.match(rowsOf(msg)[0] ?? '', /^\d{4}-.*Z SANDBOX .*\(start\)$/);
    assert.equal(await wayOf(SITE), 'alarm');
  });

  it('lists what came so far, and the test goes on', async () => {
    await run.press('rvm-example-12-start');
    await wayOf(SITE);
    await run.press('rvm-example-12-sofar');
    const msg = await run.nodeRed.message('meanwhile', ({ topic }) => topic === 'on test');
    assert.equal(rowsOf(msg).length, 1);
    assert.equal(await wayOf(SITE), 'on test');
  });

  it('ends by itself at its time, and says what came', async () => {
    const began = Date.now();
    await put(3 / 60);
    assert.equal(await wayOf(SITE), 'on test');
    assert.equal(rowsOf(await listAfter(began)).length, 1);
    assert.equal(await wayOf(SITE), 'alarm');
  });

  for (const minutes of [25 * 60, -1, 'an hour', undefined]) {
    it(`the button refuses ${String(minutes)} as minutes: the alarm goes to the panel`, async () => {
      const from = run.nodeRed.log.length;
      await put(minutes);
      assert.equal(await wayOf(SITE), 'alarm');
      await run.nodeRed.logged(/No test: minutes must be a number from 0 to 1440/, from);
    });
  }

  for (const [what, until] of [
    ['further ahead than a day', Date.now() + 25 * 3600_000],
    ['no time', 'soon'],
    ['nothing', null],
  ]) {
    it(`an end of the test that is ${what} counts as no test: the alarm goes to the panel`, async () => {
      await inject(run.nodeRed, 'spoil', { [SITE]: { from: Date.now(), until } });
      assert.equal(await wayOf(SITE), 'alarm');
    });
  }

  it('goes on after a restart where the context is kept on the disk', async () => {
    await run.press('rvm-example-12-start');
    assert.equal(await wayOf(SITE), 'on test');
    await run.restart();
    assert.equal(await wayOf(SITE), 'on test');
  });

  it('ends with a restart where it is not: the alarm goes to the panel', async () => {
    await run.stop();
    run = await ExampleRun.start('12', options(''));
    cameras = await camerasOf(run);
    await run.press('rvm-example-12-start');
    assert.equal(await wayOf(SITE), 'on test');
    await run.restart();
    assert.equal(await wayOf(SITE), 'alarm');
  });
});
