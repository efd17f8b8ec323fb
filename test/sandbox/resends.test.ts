import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { Sandbox, SandboxOptions } from '../../sandbox';
import { eventually } from '../support/time/patience';
import { waitAfter } from '../../sandbox/webhooks/sender';
import { closeSandboxes, control, startSandbox, type Json } from './service-client';
import { closeTargets, type Received, WebhookTarget } from './webhook-target';
import { selfSigned } from '../support/network/certificates';
import { slowIt } from '../support/suite/lanes';
import { needs } from '../support/suite/programs';

let sandbox: Sandbox;
let target: WebhookTarget;
let secret: string;

async function start(options: SandboxOptions = {}): Promise<void> {
  sandbox = await startSandbox(options);
  target = await WebhookTarget.start();
  ({ secret } = sandbox.setStation('north', { scheme: 'http' }));
  sandbox.setEndpoint('one', { station: 'north', url: () => target.url });
}

async function delivery(index = 0): Promise<Json> {
  return (await control(sandbox, 'GET', 'deliveries')).body.at(index);
}

const stateOf = async (index = 0): Promise<string> => (await delivery(index)).at('state').text;

/** Waits until the first delivery looks as expected. */
async function deliveryWhen(test: (delivery: Json) => boolean): Promise<Json> {
  const isSo = async (): Promise<boolean> => {
    const found = await delivery();
    return found.value !== undefined && test(found);
  };
  await eventually(isSo, 'the state of the delivery');
  return delivery();
}

const tried = (): Promise<Json> => deliveryWhen((found) => found.at('attempts').list.length === 1);
const advance = (seconds: number) => control(sandbox, 'POST', 'clock', { advance: seconds });

/** Raises an alarm that does not end while the test lasts, so that there is one delivery. */
const raise = (): void => void sandbox.raiseAlarm({ seconds: 86_400 });

function assertSigned({ bytes, headers }: Received, phrase: string): void {
  const hmac = createHmac('sha256', phrase).update(bytes).digest('base64');
  assert.equal(headers.authorization, `HMAC-SHA256 ${hmac}`);
}

describe('deliveries of the sandbox', () => {
  afterEach(async () => {
    await closeSandboxes();
    await closeTargets();
  });

  for (const status of [200, 201, 202])
    it(`are over with the answer ${status}`, async () => {
      await start();
      target.replies = [status];
      const ids = sandbox.raiseAlarm();
      const found = await deliveryWhen((one) => one.at('state').text === 'delivered');
      assert.partialDeepStrictEqual(found.value, { ...ids, nextAt: null });
      assert.equal(found.at('attempts', 0, 'status').number, status);
      assert.match(found.at('attempts', 0, 'at').text, /Z$/);
    });

  for (const status of [204, 302, 307, 400, 401, 404, 410, 500, 503])
    it(`are given up with the answer ${status}`, async () => {
      await start();
      target.replies = [status];
      raise();
      await deliveryWhen((one) => one.at('state').text === 'refused');
      await advance(7200);
      assert.equal(target.received.length, 1);
    });

  it('come again after a status where resendOnStatus asks for it', async () => {
    await start({ resendOnStatus: true });
    target.replies = [503, 401, 200];
    raise();
    await target.messages(1);
    await advance(60);
    const found = await delivery();
    assert.equal(found.at('state').text, 'delivered');
    assert.deepEqual(
      found.at('attempts').list.map((attempt) => attempt.at('status').number),
      [503, 401, 200],
    );
  });

  const FAILING: [title: string, error: RegExp, fails: () => void][] = [
    ['a connection that was cut', /^ECONNRESET$/, () => (target.replies = ['reset', 200])],
    ['a time-out', /^time-out$/, () => (target.replies = ['silent', 200])],
    ...[undefined, '', 'here', 'ftp://127.0.0.1/'].map((address): [string, RegExp, () => void] => [
      `the address ${JSON.stringify(address)}`,
      /^the endpoint /,
      () => fromAddress(address),
    ]),
    [
      'an address that nobody listens at',
      /^ECONNREFUSED$/,
      () => fromAddress('http://127.0.0.1:9/half-a-secret'),
    ],
  ];
  /** The first address of the endpoint, of which no error tells. */
  function fromAddress(address: string | undefined): void {
    const addresses = [address, target.url];
    sandbox.setEndpoint('one', { station: 'north', url: () => addresses.shift() });
  }
  for (const [title, error, fails] of FAILING)
    it(`come again after ${title}`, async () => {
      await start({ sendTimeout: 0.2 });
      fails();
      raise();
      const pending = await tried();
      assert.equal(pending.at('state').text, 'pending');
      assert.match(pending.at('attempts', 0, 'error').text, error);
      assert.match(pending.at('nextAt').text, /Z$/);
      await advance(6);
      assert.equal(await stateOf(), 'delivered');
    });

  it('reach an endpoint on this machine with a self-signed certificate', async function () {
    needs(this, 'openssl');
    await start();
    const server = createServer(selfSigned('somewhere else'), (_, response) => response.end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    sandbox.setEndpoint('one', { station: 'north', url: () => `https://127.0.0.1:${port}/` });
    raise();
    await deliveryWhen((one) => one.at('state').text === 'delivered');
    server.close();
  });

  it('keep message id and payload over resends, with a new transmit time and signature', async () => {
    await start();
    target.replies = ['reset', 'reset', 200];
    raise();
    await target.messages(1);
    await advance(30);
    const all = await target.messages(3);
    for (const [field, different] of Object.entries({
      messageId: 1,
      logCorrelationId: 1,
      payload: 1,
      transmitTime: 3,
    }))
      assert.equal(
        new Set(all.map(({ message }) => JSON.stringify(message.at(field).value))).size,
        different,
        field,
      );
    for (const each of all) assertSigned(each, secret);
  });

  it('wait longer and longer, and expire 24 hours after the event', async () => {
    await start();
    await target.close();
    raise();
    await advance(86_390);
    assert.equal(await stateOf(), 'pending');
    await advance(20);
    const expired = await delivery();
    assert.partialDeepStrictEqual(expired.value, { state: 'expired', nextAt: null });
    const times = expired.at('attempts').list.map((attempt) => Date.parse(attempt.at('at').text));
    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    for (const [index, wait] of waits.entries()) assert.ok(wait > (waits[index - 1] ?? 0), String(waits));
    assert.ok(times.length > 15);
    assert.ok((times.at(-1) ?? 0) - (times[0] ?? 0) < 86_400_000);
  });

  it('reach an endpoint that comes back after hours', async () => {
    await start();
    let url = 'http://127.0.0.1:9/';
    sandbox.setEndpoint('one', { station: 'north', url: () => url });
    raise();
    await advance(20 * 3600);
    ({ url } = target);
    await advance(3 * 3600);
    await target.message();
    assert.equal(await stateOf(), 'delivered');
  });

  it('count the 24 hours of an end from the end, however long the alarm was', async () => {
    await start();
    raise();
    await target.messages(1);
    await target.close();
    await advance(86_500);
    await advance(86_400 - 200);
    assert.equal(await stateOf(1), 'pending');
    await advance(200);
    assert.equal(await stateOf(1), 'expired');
  });

  for (const [what, remove] of [
    ['endpoint', () => sandbox.removeEndpoint('one')],
    ['station', () => sandbox.removeStation('north')],
  ] as const)
    it(`stop when their ${what} is removed`, async () => {
      await start();
      target.replies = ['reset'];
      raise();
      await tried();
      remove();
      assert.equal(await stateOf(), 'cancelled');
      raise();
      await advance(3600);
      assert.equal(target.received.length, 1);
    });

  it('take the phrase that is in force at each attempt', async () => {
    await start();
    target.replies = ['reset', 200];
    raise();
    await target.messages(1);
    sandbox.setStation('north', { scheme: 'http', secret: 'a phrase of today' });
    await advance(6);
    assertSigned(await target.message(1), 'a phrase of today');
  });

  slowIt('are remembered within a bound', async () => {
    await start();
    sandbox.setEndpoint('one', { station: 'north', url: () => undefined });
    for (let i = 0; i < 2100; i++) raise();
    assert.equal((await control(sandbox, 'GET', 'deliveries')).body.list.length, 2000);
  });
});

it('the sandbox waits seconds before a resend, then up to an hour, and from there on ten minutes more each time', () => {
  const waits = Array.from({ length: 18 }, (_, index) => waitAfter(index + 1) / 1000);
  assert.deepEqual(waits.slice(0, 6), [5, 15, 60, 300, 900, 3600]);
  const growth = waits.slice(6).map((wait, index) => wait - (waits[index + 5] ?? 0));
  assert.deepEqual(growth, Array(12).fill(600));
});
