import assert from 'node:assert/strict';
import { OptionError, Sandbox, type SandboxOptions } from '../../sandbox';
import { eventually } from '../support/time/patience';
import { closeSandboxes, startSandbox } from './service-client';
import { closeTargets, WebhookTarget } from './webhook-target';

/** Has deliveries to a target from the next alarm on. */
function listen(sandbox: Sandbox, target: WebhookTarget): void {
  sandbox.setStation('north', { scheme: 'http' });
  sandbox.setEndpoint('one', { station: 'north', url: () => target.url });
}

describe('start and end of the sandbox', () => {
  afterEach(async () => {
    await closeSandboxes();
    await closeTargets();
  });

  it('takes a free RTSP port where none is asked for and the usual one is taken', async () => {
    const one = await startSandbox({ rtspPort: undefined });
    const two = await startSandbox({ rtspPort: undefined });
    assert.notEqual(one.rtspUrl, two.rtspUrl);
  });

  it('fails where the port asked for is taken, and leaves nothing behind', async () => {
    const port = Number(new URL((await WebhookTarget.start()).url).port);
    await assert.rejects(Sandbox.start({ port, rtspPort: 0 }), { code: 'EADDRINUSE' });
    await assert.rejects(Sandbox.start({ port: 0, rtspPort: port }), { code: 'EADDRINUSE' });
  });

  it('listens on loopback, on free ports, and can be started again on the port it had', async () => {
    const one = await startSandbox();
    assert.match(one.url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.match(one.rtspUrl, /^rtsp:\/\/127\.0\.0\.1:\d+$/);
    const port = Number(new URL(one.url).port);
    await one.close();
    assert.equal((await startSandbox({ port })).url, one.url);
  });

  it('ends with deliveries, alarms and answers under way, twice without harm, and sends nothing from then on', async () => {
    const sandbox = await startSandbox({ eventsPerMinute: 600 });
    const target = await WebhookTarget.start();
    target.replies = ['silent'];
    listen(sandbox, target);
    sandbox.raiseAlarm();
    await target.message();
    await sandbox.close();
    await sandbox.close();
    await assert.rejects(fetch(sandbox.url));
    await eventually(async () => (await target.connections()) === 0, 'the end of the delivery');
    const { length } = target.received;
    listen(sandbox, target);
    sandbox.raiseAlarm();
    // What was sent before this would be there with it.
    target.replies = [200];
    await fetch(target.url, { method: 'POST', body: '{}' });
    assert.equal(target.received.length, length + 1);
  });

  for (const [options, name] of [
    [{ port: 70_000 }, 'port'],
    [{ port: 1.5 }, 'port'],
    [{ rtspPort: -1 }, 'rtspPort'],
    [{ cameras: -1 }, 'cameras'],
    [{ sites: 0 }, 'sites'],
    [{ sites: 2, pending: 3 }, 'pending'],
    [{ eventsPerMinute: -1 }, 'eventsPerMinute'],
    [{ eventsPerMinute: Number.NaN }, 'eventsPerMinute'],
    [{ sendTimeout: 0 }, 'sendTimeout'],
    [{ furtherPending: -1 }, 'furtherPending'],
    [{ versions: '3-1' }, 'versions'],
    [{ seed: 0.5 }, 'seed'],
  ] as const satisfies readonly (readonly [SandboxOptions, string])[])
    it(`refuses ${JSON.stringify(options)} and names the option`, async () => {
      await assert.rejects(
        Sandbox.start(options),
        (error) => error instanceof OptionError && error.message.startsWith(name),
      );
    });
});
