import assert from 'node:assert/strict';
import { testBrowser } from '../support/editor/browser';
import { ExampleRun } from '../support/examples/example-run';
import { needs } from '../support/suite/programs';
import { PATIENCE } from '../support/time/patience';

const SITE = 'SANDBOX Harbour Depot';
const GATE = 'SANDBOX Gate 1';

interface Point {
  series: string;
  x: string;
  y: number | null;
}

interface Line {
  deliveryId: string;
  camera: string;
  rule: string;
  verdict: string;
  by: string;
}

describe('example 18, the statistics board', () => {
  const run = ExampleRun.ofGroup('18', {
    beside: {
      'chart-hours': 'hours',
      'chart-seconds': 'seconds',
      'chart-sites': 'sites',
      'chart-false': 'false',
      table: 'table',
      judge: 'judged',
    },
    changes: { panel: { timeout: '1' }, tick: { repeat: '1' } },
    doors: { judge: 'verdict' },
  });

  before(async () => {
    for (const eventName of ['Loitering', 'Fence climbed']) await run.raise({ camera: GATE, eventName });
    await run.raise({ camera: GATE, eventClass: 'health', eventName: 'Camera lost' });
  });

  /** Points of a chart, as soon as they are as wanted. */
  async function points(chart: string, isWanted: (points: Point[]) => boolean): Promise<Point[]> {
    const of = (msg: Record<string, unknown>): Point[] => msg.payload as Point[];
    return of(await run.nodeRed.message(chart, (msg) => isWanted(of(msg))));
  }

  const sum = (all: readonly Point[], series: string): number =>
    all.reduce((total, point) => total + (point.series === series ? (point.y ?? 0) : 0), 0);

  async function line(rule: string, verdict: string): Promise<Line> {
    const isIt = (each: Line): boolean => each.rule === rule && each.verdict === verdict;
    const { payload } = await run.nodeRed.message('table', (msg) => (msg.payload as Line[]).some(isIt));
    return (payload as Line[]).find(isIt) ?? assert.fail();
  }

  const judge = (deliveryId: unknown, verdict: string): Promise<void> =>
    run.enter('judge', { payload: { deliveryId, verdict } });

  it('counts alarms of the last 24 hours by hour, the newest last, and no health event', async () => {
    const all = await points('hours', (each) => sum(each, 'not judged') === 2);
    assert.equal(all.length, 3 * 24);
    assert.equal(new Set(all.map(({ x }) => x)).size, 24);
    const notNow = all.slice(0, -6);
    assert.equal(sum(notNow, 'not judged'), 0);
  });

  it('counts alarms by site', async () => {
    const all = await points('sites', (each) => sum(each, 'not judged') === 2);
    assert.deepEqual([...new Set(all.map(({ x }) => x))], [SITE]);
  });

  it('shows the seconds until the panel has answered', async () => {
    const all = await points('seconds', (each) => each.some(({ y }) => y !== null));
    assert.equal(all.length, 24);
    assert.ok((all.findLast(({ y }) => y !== null)?.y ?? 0) >= 1);
  });

  it('lists the last alarms, each once, without a verdict at first', async () => {
    const { camera, verdict } = await line('Fence climbed', '');
    assert.deepEqual([camera, verdict], [GATE, '']);
  });

  it('keeps what a person has found, and counts it', async () => {
    await judge((await line('Fence climbed', '')).deliveryId, 'false');
    assert.equal((await line('Fence climbed', 'false')).by, 'statistics board');
    await points('hours', (each) => sum(each, 'false alarm') === 1 && sum(each, 'not judged') === 1);
    assert.deepEqual(await points('false', (each) => each.length > 0), [
      { series: 'false', x: GATE, y: 100 },
    ]);
  });

  it('has the share of false alarms by what was found last', async () => {
    await judge((await line('Loitering', '')).deliveryId, 'false');
    await points('sites', (each) => sum(each, 'false alarm') === 2);
    await judge((await line('Loitering', 'false')).deliveryId, 'real');
    await line('Loitering', 'real');
    await points('false', (each) => each[0]?.y === 50);
  });

  it('drops what a browser sends of an alarm that is not shown, or that is no verdict', async () => {
    const before = run.nodeRed.at('judged').length;
    const { deliveryId } = await line('Loitering', 'real');
    await judge('another', 'real');
    await judge(deliveryId, 'perhaps');
    await judge(deliveryId, 'real');
    await run.nodeRed.until(() => run.nodeRed.at('judged').length > before, 'the verdict');
    assert.equal(run.nodeRed.at('judged').length, before + 1);
  });

  it('is drawn in the browser, whose buttons give a verdict', async function () {
    needs(this, 'chromium');
    const browser = await testBrowser();
    try {
      const page = await browser.newPage({ viewport: { width: 1366, height: 768 } });
      page.setDefaultTimeout(PATIENCE);
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(error.message));
      await page.goto(`${run.nodeRed.url}/dashboard/statistics`);
      await page.locator('canvas').nth(3).waitFor();
      const row = page.locator('.rvm-verdicts tbody tr', { hasText: 'Loitering' });
      await row.getByRole('button', { name: 'false alarm' }).click();
      await row.locator('td', { hasText: /^false alarm$/ }).waitFor();
      assert.deepEqual(errors, []);
    } finally {
      await browser.close();
    }
  });

  it('shows the share of a camera that was judged, although many others have more alarms', async () => {
    const places = 'Back Door,Loading Bay,Car Park,North Fence,Office,Weighbridge,Entrance,Yard';
    for (const place of places.split(','))
      for (const eventName of 'ABCD') await run.raise({ camera: `SANDBOX ${place} 1`, eventName });
    await points('hours', (each) => sum(each, 'not judged') >= 32);
    const from = run.nodeRed.seen.length;
    await run.nodeRed.until(() => run.nodeRed.at('false', from).length > 0, 'the next counts');
    const [share] = run.nodeRed.at('false', from).map((msg) => msg.payload as Point[]);
    assert.deepEqual([share?.length, share?.[0]?.x], [1, GATE]);
  });
});
