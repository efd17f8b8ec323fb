import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Sandbox, SandboxOptions } from '../../sandbox';
import { eventually } from '../support/time/patience';
import { waitAfter } from '../../sandbox/webhooks/sender';
import { closeSandboxes, control, startSandbox, type Json } from './service-client';
import { closeTargets, WebhookTarget } from './webhook-target';
import { slowIt } from '../support/suite/lanes';

async function delivery(sandbox: Sandbox, index = 0): Promise<Json> {
  return (await control(sandbox, 'GET', 'deliveries')).body.at(index);
}

/** Waits until the delivery looks as expected. */
async function deliveryWhen(sandbox: Sandbox, test: (delivery: Json) => boolean): Promise<Json> {
  let found = await delivery(sandbox);
  const isSo = async (): Promise<boolean> => {
    found = await delivery(sandbox);
    return found.value !== undefined && test(found);
  };
  await eventually(isSo, 'the state of the delivery');
  return found;
}

const attemptCount = (found: Json): number => found.at('attempts').list.length;
const advance = (sandbox: Sandbox, seconds: number) =>
  control(sandbox, 'POST', 'clock', { advance: seconds });

async function start(options: SandboxOptions = {}) {
  const sandbox = await startSandbox(options);
  const target = await WebhookTarget.start();
  const { secret } = sandbox.setStation('north', { scheme: 'http' });
  sandbox.setEndpoint('one', { station: 'north', url: () => target.url });
  return { sandbox, target, secret };
}

/** Raises an alarm that does not end while the test lasts, so that there is one delivery. */
const raise = (sandbox: Sandbox): void => void sandbox.raiseAlarm({ seconds: 86_400 });

describe('deliveries of the sandbox', () => {
  afterEach(async () => {
    await closeSandboxes();
    await closeTargets();
  });

  for (const status of [200, 201, 202]) {
    it(`are over with the answer ${status}`, async () => {
      const { sandbox, target } = await start();
      target.replies = [status];
      const { messageId, alarmId } = sandbox.raiseAlarm();
      const found = await deliveryWhen(sandbox, (one) => one.at('state').text === 'delivered');
      assert.equal(found.at('messageId').text, messageId);
      assert.equal(found.at('alarmId').text, alarmId);
      assert.equal(found.at('attempts', 0, 'status').number, status);
      assert.match(found.at('attempts', 0, 'at').text, /Z$/);
      assert.equal(found.at('nextAt').value, null);
    });
  }

  for (const status of [204, 302, 400, 401, 404, 410, 500, 503]) {
    it(`are given up with the answer ${status}`, async () => {
      const { sandbox, target } = await start();
      target.replies = [status];
      raise(sandbox);
      await deliveryWhen(sandbox, (one) => one.at('state').text === 'refused');
      await advance(sandbox, 7200);
      assert.equal(target.received.length, 1);
    });
  }

  it('come again after a status where resendOnStatus asks for it', async () => {
    const { sandbox, target } = await start({ resendOnStatus: true });
    target.replies = [503, 401, 200];
    raise(sandbox);
    await target.messages(1);
    await advance(sandbox, 60);
    const found = await delivery(sandbox);
    assert.equal(found.at('state').text, 'delivered');
    assert.deepEqual(
      found.at('attempts').list.map((attempt) => attempt.at('status').number),
      [503, 401, 200],
    );
  });

  it('come again after a connection that was cut', async () => {
    const { sandbox, target } = await start();
    target.replies = ['reset', 200];
    raise(sandbox);
    const pending = await deliveryWhen(sandbox, (one) => attemptCount(one) === 1);
    assert.equal(pending.at('state').text, 'pending');
    assert.equal(pending.at('attempts', 0, 'error').text, 'ECONNRESET');
    assert.match(pending.at('nextAt').text, /Z$/);
    await advance(sandbox, 6);
    assert.equal((await delivery(sandbox)).at('state').text, 'delivered');
  });

  it('come again after a time-out', async () => {
    const { sandbox, target } = await start({ sendTimeout: 0.2 });
    target.replies = ['silent', 200];
    raise(sandbox);
    const pending = await deliveryWhen(sandbox, (one) => attemptCount(one) === 1);
    assert.equal(pending.at('attempts', 0, 'error').text, 'time-out');
    await advance(sandbox, 6);
    assert.equal((await delivery(sandbox)).at('state').text, 'delivered');
  });

  it('come again where the endpoint has no address yet', async () => {
    const { sandbox, target } = await start();
    const addresses: string[] = [];
    sandbox.setEndpoint('one', { station: 'north', url: () => addresses[0] });
    raise(sandbox);
    await deliveryWhen(sandbox, (one) => attemptCount(one) === 1);
    addresses.push(target.url);
    await advance(sandbox, 6);
    assert.equal((await delivery(sandbox)).at('state').text, 'delivered');
  });

  it('keep message id and payload over resends, with a new transmit time and signature', async () => {
    const { sandbox, target, secret } = await start();
    target.replies = ['reset', 'reset', 200];
    raise(sandbox);
    await target.messages(1);
    await advance(sandbox, 30);
    const all = await target.messages(3);
    assert.equal(new Set(all.map(({ message }) => message.at('messageId').text)).size, 1);
    assert.equal(new Set(all.map(({ message }) => message.at('logCorrelationId').text)).size, 1);
    assert.equal(new Set(all.map(({ message }) => JSON.stringify(message.at('payload').value))).size, 1);
    assert.equal(new Set(all.map(({ message }) => message.at('transmitTime').text)).size, 3);
    for (const { bytes, headers } of all) {
      const hmac = createHmac('sha256', secret).update(bytes).digest('base64');
      assert.equal(headers.authorization, `HMAC-SHA256 ${hmac}`);
    }
  });

  it('wait longer and longer, and expire 24 hours after the event', async () => {
    const { sandbox, target } = await start();
    await target.close();
    raise(sandbox);
    await advance(sandbox, 86_390);
    const pending = await delivery(sandbox);
    assert.equal(pending.at('state').text, 'pending');
    await advance(sandbox, 20);
    const expired = await delivery(sandbox);
    assert.equal(expired.at('state').text, 'expired');
    assert.equal(expired.at('nextAt').value, null);
    const times = expired.at('attempts').list.map((attempt) => Date.parse(attempt.at('at').text));
    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    for (const [index, wait] of waits.entries()) assert.ok(wait > (waits[index - 1] ?? 0), String(waits));
    assert.ok(times.length > 15);
    assert.ok((times.at(-1) ?? 0) - (times[0] ?? 0) < 86_400_000);
  });

  it('reach an endpoint that comes back after hours', async () => {
    const { sandbox, target } = await start();
    let url: string | undefined = 'http://127.0.0.1:9/';
    sandbox.setEndpoint('one', { station: 'north', url: () => url });
    raise(sandbox);
    await advance(sandbox, 20 * 3600);
    ({ url } = target);
    await advance(sandbox, 3 * 3600);
    await target.message();
    assert.equal((await delivery(sandbox)).at('state').text, 'delivered');
  });

  it('count the 24 hours of an end from the end, however long the alarm was', async () => {
    const { sandbox, target } = await start();
    sandbox.raiseAlarm({ seconds: 86_400 });
    await target.messages(1);
    await target.close();
    await advance(sandbox, 86_500);
    await advance(sandbox, 86_400 - 200);
    assert.equal((await delivery(sandbox, 1)).at('state').text, 'pending');
    await advance(sandbox, 200);
    assert.equal((await delivery(sandbox, 1)).at('state').text, 'expired');
  });

  it('stop when their endpoint is removed', async () => {
    const { sandbox, target } = await start();
    target.replies = ['reset'];
    raise(sandbox);
    await deliveryWhen(sandbox, (one) => attemptCount(one) === 1);
    sandbox.removeEndpoint('one');
    assert.equal((await delivery(sandbox)).at('state').text, 'cancelled');
    await advance(sandbox, 3600);
    assert.equal(target.received.length, 1);
  });

  it('stop when their station is removed', async () => {
    const { sandbox, target } = await start();
    target.replies = ['reset'];
    raise(sandbox);
    await deliveryWhen(sandbox, (one) => attemptCount(one) === 1);
    sandbox.removeStation('north');
    assert.equal((await delivery(sandbox)).at('state').text, 'cancelled');
    raise(sandbox);
    await advance(sandbox, 3600);
    assert.equal(target.received.length, 1);
  });

  it('take the phrase that is in force at each attempt', async () => {
    const { sandbox, target } = await start();
    target.replies = ['reset', 200];
    raise(sandbox);
    await target.messages(1);
    sandbox.setStation('north', { scheme: 'http', secret: 'a phrase of today' });
    await advance(sandbox, 6);
    const { bytes, headers } = await target.message(1);
    const hmac = createHmac('sha256', 'a phrase of today').update(bytes).digest('base64');
    assert.equal(headers.authorization, `HMAC-SHA256 ${hmac}`);
  });

  slowIt('are remembered within a bound', async () => {
    const { sandbox } = await start();
    sandbox.setEndpoint('one', { station: 'north', url: () => undefined });
    for (let i = 0; i < 2100; i++) raise(sandbox);
    assert.equal((await control(sandbox, 'GET', 'deliveries')).body.list.length, 2000);
  });
});

describe('the wait of the sandbox before a resend', () => {
  const waits = Array.from({ length: 18 }, (_, index) => waitAfter(index + 1) / 1000);

  it('begins with seconds and comes to an hour', () => {
    assert.deepEqual(waits.slice(0, 6), [5, 15, 60, 300, 900, 3600]);
  });

  it('grows by ten minutes from there on, until the end', () => {
    const growth = waits.slice(6).map((wait, index) => wait - (waits[index + 5] ?? 0));
    assert.deepEqual(growth, Array(12).fill(600));
  });
});
