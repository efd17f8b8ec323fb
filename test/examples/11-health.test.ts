import assert from 'node:assert/strict';
import { ExampleRun, tabEnv } from '../support/examples/example-run';

const SHORT = 'SANDBOX Gate 1';
const LONG = 'SANDBOX Yard 1';
const ENDLESS = 'SANDBOX North Fence 1';
/** In the units of the flow's variables: 4.8 s, so that a busy machine has time for the short one, and 14.4 s. */
const TELL_AFTER_MINUTES = 0.08;
const FORGET_AFTER_HOURS = 0.004;

describe('example 11, health of the devices', () => {
  const run = ExampleRun.ofGroup('11', {
    beside: { state: 'state', 'given-up': 'state', person: 'person', alarm: 'alarm' },
    // Shorter times.
    changes: { tab: tabEnv({ TELL_AFTER_MINUTES, FORGET_AFTER_HOURS }), tick: { repeat: '0.25' } },
  });

  before(async () => {
    const trouble = { eventClass: 'health', eventName: 'Camera disconnected' } as const;
    await run.raise({ ...trouble, camera: SHORT, seconds: 0.2 });
    await run.raise({ ...trouble, camera: LONG, seconds: 8 });
    await run.raise({ ...trouble, camera: ENDLESS });
  });

  /** The states of a device so far. */
  function states(device: string): unknown[] {
    const ofDevice = run.nodeRed.at('state').filter(({ topic }) => topic === device);
    return ofDevice.map(({ payload }) => (payload as { state: string }).state);
  }

  /** What a person was told of a device. */
  function told(device: string): string[] {
    const texts = run.nodeRed.at('person').map(({ payload }) => String(payload));
    return texts.filter((text) => text.includes(`${device}:`));
  }

  async function becomes(device: string, state: string): Promise<void> {
    await run.nodeRed.until(() => states(device).at(-1) === state, `${device} ${state}`);
  }

  it('tells a trouble that lasts, once, with site, device and what it is, and its end', async () => {
    await becomes(LONG, 'ok');
    assert.deepEqual(states(LONG), ['trouble', 'ok']);
    await run.nodeRed.until(() => told(LONG).length >= 2, 'two messages');
    assert.match(told(LONG)[0] ?? '', /^SANDBOX .*, SANDBOX Yard 1: Camera disconnected for 0 minutes$/);
    assert.match(told(LONG)[1] ?? '', /Camera disconnected is over$/);
  });

  it('tells nobody of a trouble that was over sooner', () => {
    assert.deepEqual(states(SHORT), ['trouble', 'ok']);
    assert.deepEqual(told(SHORT), []);
  });

  it('gives up a trouble whose end never comes, and tells a person', async () => {
    await becomes(ENDLESS, 'unknown');
    assert.deepEqual(states(ENDLESS), ['trouble', 'unknown']);
    await run.nodeRed.until(() => told(ENDLESS).length === 2, 'two messages');
    assert.match(told(ENDLESS)[1] ?? '', /is given up: no end was told$/);
  });

  it('calls a device that is no camera by the name of its server', async () => {
    await run.raise({ eventClass: 'health', seconds: 0 });
    await run.nodeRed.until(
      () => states('SANDBOX Server 1').at(-1) === 'ok' || states('SANDBOX Server 2').at(-1) === 'ok',
      'the server',
    );
  });

  it('keeps a device in trouble until its last trouble is over', async () => {
    const camera = 'SANDBOX Car Park 1';
    await run.raise({ eventClass: 'health', camera, seconds: 1.5 });
    await run.raise({ eventClass: 'health', camera, seconds: 2 });
    await becomes(camera, 'ok');
    assert.deepEqual(states(camera), ['trouble', 'trouble', 'ok']);
  });

  it('sends no alarm into the book', async () => {
    const camera = 'SANDBOX Gate 2';
    await run.raise({ camera });
    await run.nodeRed.message('alarm');
    await run.raise({ eventClass: 'health', camera, seconds: 0.3 });
    await becomes(camera, 'ok');
    assert.deepEqual(states(camera), ['trouble', 'ok']);
  });

  it('makes a summary of the last 24 hours, with what has not ended', async () => {
    const known = run.nodeRed.at('person').length;
    await run.press('day');
    const summary = (): string[] =>
      run.nodeRed
        .at('person')
        .slice(known)
        .map(({ payload }) => String(payload))
        .filter((text) => text.startsWith('Troubles of the last 24 hours'));
    await run.nodeRed.until(() => summary().length === 1, 'the summary');
    for (const line of [
      'North Fence 1: 1, not ended 1',
      'Yard 1: 1, not ended 0',
      'Car Park 1: 2, not ended 0',
    ])
      assert.match(summary()[0] ?? '', new RegExp(`, SANDBOX ${line}$`, 'm'));
  });

  it('knows after a restart what was in trouble before, and tells it', async () => {
    const camera = 'SANDBOX Gate 2';
    await run.raise({ eventClass: 'health', camera, eventName: 'Video signal lost' });
    await becomes(camera, 'trouble');
    await run.restart();
    await run.nodeRed.until(() => told(camera).length > 0, 'the trouble of the last run');
    assert.match(told(camera)[0] ?? '', /Video signal lost for 0 minutes$/);
    assert.deepEqual(told(LONG), []);
  });

  it('runs without an error of its own', () => {
    assert.doesNotMatch(run.nodeRed.log, /\[error\]/);
  });
});
