import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { Sandbox, SandboxOptions } from '../../sandbox';
import { advance, closeSandboxes, control, startSandbox, stateOf, type Json } from './service-client';
import { closeTargets, type Received, WebhookTarget } from './webhook-target';
import { selfSigned } from '../support/network/certificates';
import { portOf } from '../support/network/servers';
import { slowIt } from '../support/suite/lanes';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const ZONELESS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}$/;
const ENVELOPE = 'payloadType version messageId transmitTime logCorrelationId authenticationToken payload';
const PAYLOAD =
  'Version agentUserId agentUserTenantId alarmId alarmTenantId eventClass eventName eventType eventRuleName ' +
  'eventStartTime eventEndTime entityTenantId locationId locationName serverId serverName ' +
  'cameraId cameraName cameraRemoteId clipId clipUri gatewayId';
const IDS = 'alarmId alarmTenantId entityTenantId locationId serverId cameraId clipId gatewayId';

let sandbox: Sandbox;
let target: WebhookTarget;
let station: ReturnType<Sandbox['setStation']>;

async function start(scheme: 'http' | 'https' = 'http', options: SandboxOptions = {}): Promise<void> {
  sandbox = await startSandbox(options);
  target = await WebhookTarget.start();
  station = sandbox.setStation('north', { name: 'North', scheme });
  sandbox.setEndpoint('one', { station: 'north', url: () => target.url });
}

const payloadOf = async (index = 0): Promise<Json> => (await target.message(index)).message.at('payload');
const cameraOf = async (index: number): Promise<Json> => (await stateOf(sandbox)).at('cameras', index);

function assertSigned({ bytes, headers }: Received, phrase: string): void {
  const hmac = createHmac('sha256', Buffer.from(phrase, 'utf8')).update(bytes).digest('base64');
  assert.equal(headers.authorization, `HMAC-SHA256 ${hmac}`);
}

async function closeAll(): Promise<void> {
  await closeSandboxes();
  await closeTargets();
}

/** Seconds from the start of an event to its end. */
function lengthOf(payload: Json): number {
  const [from = NaN, to = NaN] = ['eventStartTime', 'eventEndTime'].map((field) =>
    Date.parse(`${payload.at(field).text}Z`),
  );
  return Math.round((to - from) / 1000);
}

describe('the alarms of the sandbox', () => {
  beforeEach(() => start());
  afterEach(closeAll);

  it('come as an envelope with all fields of the specification', async () => {
    const { messageId } = sandbox.raiseAlarm();
    const { message, headers } = await target.message();
    assert.deepEqual(message.keys, ENVELOPE.split(' '));
    assert.partialDeepStrictEqual(message.value, { payloadType: 'BlueEvent', version: '1.0.0', messageId });
    assert.match(message.at('transmitTime').text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.match(headers['content-type'] ?? '', /^application\/json/);
  });

  it('carry a payload with all fields of the specification, the version spelled Version', async () => {
    const { alarmId } = sandbox.raiseAlarm();
    const { agentUserId, agentUserTenantId } = station;
    const payload = await payloadOf();
    assert.deepEqual(payload.keys, PAYLOAD.split(' '));
    const facts = { Version: '1.0.0', alarmId, agentUserId, agentUserTenantId, eventClass: 'security' };
    assert.partialDeepStrictEqual(payload.value, facts);
    assert.equal(payload.at('eventRuleName').text, payload.at('eventName').text);
    for (const id of IDS.split(' ')) assert.match(payload.at(id).text, UUID);
    for (const name of ['locationName', 'serverName', 'cameraName'])
      assert.match(payload.at(name).text, /^SANDBOX /);
  });

  it('tell the start time without zone, and null as the end while they last', async () => {
    const before = Date.now();
    sandbox.raiseAlarm();
    const after = Date.now();
    const payload = await payloadOf();
    const { text } = payload.at('eventStartTime');
    assert.match(text, ZONELESS);
    const started = Date.parse(`${text}Z`);
    assert.ok(started >= before && started <= after);
    assert.equal(payload.at('eventEndTime').value, null);
  });

  it('are compact JSON, proven over http by the HMAC of the bytes, with a null token', async () => {
    sandbox.raiseAlarm();
    const received = await target.message();
    assertSigned(received, station.secret);
    assert.equal(received.message.at('authenticationToken').value, null);
    assert.equal(String(received.bytes), JSON.stringify(received.message.value));
  });

  it('are proven over https by the phrase in the message, without a header', async () => {
    await start('https');
    sandbox.raiseAlarm();
    const { headers, message } = await target.message();
    assert.equal(message.at('authenticationToken').text, station.secret);
    assert.equal(headers.authorization, undefined);
  });

  it('are proven with a phrase beyond ASCII by its UTF-8 bytes', async () => {
    const secret = 'gate’s ünlocked at ten';
    sandbox.setStation('north', { scheme: 'http', secret });
    sandbox.raiseAlarm();
    assertSigned(await target.message(), secret);
  });

  it('end after a while with a second message of the same alarm', async () => {
    const { alarmId } = sandbox.raiseAlarm({ seconds: 45 });
    const { message } = await target.message();
    await advance(sandbox, 50);
    const end = await target.message(1);
    const payload = end.message.at('payload');
    const clipId = message.at('payload', 'clipId').text;
    assert.partialDeepStrictEqual(payload.value, { alarmId, clipId });
    assert.notEqual(end.message.at('messageId').text, message.at('messageId').text);
    assert.match(payload.at('eventEndTime').text, ZONELESS);
    assert.equal(lengthOf(payload), 45);
  });

  it('last 20 s unless asked otherwise', async () => {
    sandbox.raiseAlarm();
    await target.message();
    await advance(sandbox, 30);
    assert.equal(lengthOf(await payloadOf(1)), 20);
  });

  for (const field of ['id', 'remoteId', 'name'])
    it(`are of the camera asked for by its ${field}, with the name asked for`, async () => {
      const camera = await cameraOf(5);
      const eventName = 'Forklift after hours';
      sandbox.raiseAlarm({ camera: camera.at(field).text, eventName });
      const ids = ['id', 'remoteId', 'name'].map((each) => camera.at(each).text);
      const [cameraId, cameraRemoteId, cameraName] = ids;
      const expected = { cameraId, cameraRemoteId, cameraName, eventName };
      assert.partialDeepStrictEqual((await payloadOf()).value, expected);
    });

  it('are of one that is online where none is asked for', async () => {
    await start('http', { cameras: 12 });
    const offline = (await cameraOf(7)).at('id').text;
    for (let i = 0; i < 60; i++) sandbox.raiseAlarm();
    const cameras = (await target.messages(60)).map(({ message }) => message.at('payload', 'cameraId').text);
    assert.ok(!cameras.includes(offline));
  });

  it('choose the same cameras with the same seed', async () => {
    const choices: unknown[][] = [];
    for (let run = 0; run < 2; run++) {
      await start('http', { seed: 42 });
      const ids = Array.from({ length: 5 }, () => sandbox.raiseAlarm().messageId);
      const messages = (await target.messages(5)).map(({ message }) => message);
      const chosen = ids.map((id) => messages.find((message) => message.at('messageId').text === id));
      choices.push(chosen.map((message) => message?.at('payload', 'cameraName').text));
    }
    assert.deepEqual(choices[0], choices[1]);
  });

  it('of health have no clip, and without a camera no camera fields; but they can be of one', async () => {
    const camera = (await cameraOf(0)).at('id').text;
    sandbox.raiseAlarm({ eventClass: 'health' });
    const payload = await payloadOf();
    assert.equal(payload.at('eventClass').text, 'health');
    for (const field of ['cameraId', 'cameraName', 'cameraRemoteId', 'clipId', 'clipUri'])
      assert.equal(payload.has(field), false);
    assert.match(payload.at('locationName').text, /^SANDBOX /);
    sandbox.raiseAlarm({ eventClass: 'health', camera });
    const ofCamera = await payloadOf(1);
    assert.deepEqual([ofCamera.at('cameraId').text, ofCamera.has('clipId')], [camera, false]);
  });

  it('go to every endpoint, each message with an id and an Agent User of its own', async () => {
    const [second, third] = [await WebhookTarget.start(), await WebhookTarget.start()];
    const south = sandbox.setStation('south', { scheme: 'https' });
    sandbox.setEndpoint('two', { station: 'south', url: () => second.url });
    sandbox.setEndpoint('three', { station: 'north', url: () => third.url });
    const { alarmId } = sandbox.raiseAlarm();
    const received = [await target.message(), await second.message(), await third.message()];
    const all = received.map(({ message }) => message);
    assert.equal(new Set(all.map((message) => message.at('messageId').text)).size, 3);
    const { agentUserId } = station;
    assert.partialDeepStrictEqual(
      all.map((message) => message.at('payload').value),
      [agentUserId, south.agentUserId, agentUserId].map((user) => ({ agentUserId: user, alarmId })),
    );
    assert.equal(all[1]?.at('authenticationToken').text, south.secret);
  });

  it('go nowhere where there is no endpoint', async () => {
    sandbox.removeEndpoint('one');
    for (const id of Object.values(sandbox.raiseAlarm())) assert.match(id, UUID);
    assert.deepEqual((await control(sandbox, 'GET', 'deliveries')).body.list, []);
  });

  it('come by themselves', async () => {
    await start('http', { eventsPerMinute: 600 });
    await target.messages(3);
  });

  slowIt(
    'come soon for the first time, also where they are seldom, and do not rain down when the clock is moved on',
    async () => {
      await start('http', { eventsPerMinute: 1 });
      await target.message();
      await advance(sandbox, 20 * 3600);
      assert.ok(target.received.length <= 2);
    },
  );

  slowIt('come by themselves in the rhythm asked for, security and health', async () => {
    await start('http', { eventsPerMinute: 600, seed: 3 });
    const classes = (await target.messages(30)).map(
      ({ message }) => message.at('payload', 'eventClass').text,
    );
    const security = classes.filter((eventClass) => eventClass === 'security').length;
    assert.ok(security > 15 && security < 30, `${security} of 30 are of security`);
  });

  it('have new ids in every run, even with the same seed', async () => {
    const one = (await startSandbox({ seed: 5 })).raiseAlarm();
    const two = (await startSandbox({ seed: 5 })).raiseAlarm();
    assert.equal(new Set([one, two].flatMap((ids) => Object.values(ids))).size, 4);
  });
});

const delivery = async (index = 0): Promise<Json> =>
  (await control(sandbox, 'GET', 'deliveries')).body.at(index);
const deliveryState = async (index = 0): Promise<string> => (await delivery(index)).at('state').text;

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

/** Raises an alarm that does not end while the test lasts, so that there is one delivery. */
const raise = (): void => void sandbox.raiseAlarm({ seconds: 86_400 });

describe('deliveries of the sandbox', () => {
  beforeEach(() => start());
  afterEach(closeAll);

  for (const status of [200, 201, 202])
    it(`are over with the answer ${status}`, async () => {
      target.replies = [status];
      const ids = sandbox.raiseAlarm();
      const found = await deliveryWhen((one) => one.at('state').text === 'delivered');
      assert.partialDeepStrictEqual(found.value, { ...ids, nextAt: null, attempts: [{ status }] });
      assert.match(found.at('attempts', 0, 'at').text, /Z$/);
    });

  for (const status of [204, 302, 307, 400, 401, 404, 410, 500, 503])
    it(`are given up with the answer ${status}`, async () => {
      target.replies = [status];
      raise();
      await deliveryWhen((one) => one.at('state').text === 'refused');
      await advance(sandbox, 7200);
      assert.equal(target.received.length, 1);
    });

  it('come again after a status where resendOnStatus asks for it', async () => {
    await start('http', { resendOnStatus: true });
    target.replies = [503, 401, 200];
    raise();
    await target.messages(1);
    await advance(sandbox, 60);
    const attempts = [503, 401, 200].map((status) => ({ status }));
    assert.partialDeepStrictEqual((await delivery()).value, { state: 'delivered', attempts });
  });

  const FAILING: [title: string, error: RegExp, fails: () => void][] = [
    ['a connection that was cut', /^ECONNRESET$/, () => (target.replies = ['reset', 200])],
    ['a time-out', /^time-out$/, () => (target.replies = ['silent', 200])],
    ...[undefined, '', 'here', 'ftp://127.0.0.1/'].map((address): [string, RegExp, () => void] => [
      `the address ${JSON.stringify(address)}`,
      /^the endpoint /,
      () => fromAddress(address),
    ]),
    ['an address that nobody is at', /^ECONNREFUSED$/, () => fromAddress('http://127.0.0.1:9/half-a-secret')],
  ];
  /** The first address of the endpoint, of which no error tells. */
  function fromAddress(address: string | undefined): void {
    const addresses = [address, target.url];
    sandbox.setEndpoint('one', { station: 'north', url: () => addresses.shift() });
  }
  for (const [title, error, fails] of FAILING)
    it(`come again after ${title}`, async () => {
      await start('http', { sendTimeout: 0.2 });
      fails();
      raise();
      const pending = await tried();
      assert.equal(pending.at('state').text, 'pending');
      assert.match(pending.at('attempts', 0, 'error').text, error);
      assert.match(pending.at('nextAt').text, /Z$/);
      await advance(sandbox, 6);
      assert.equal(await deliveryState(), 'delivered');
    });

  it('reach an endpoint on this machine with a self-signed certificate', async function () {
    needs(this, 'openssl');
    const server = createServer(selfSigned('somewhere else'), (_, response) => response.end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `https://127.0.0.1:${portOf(server)}/`;
    sandbox.setEndpoint('one', { station: 'north', url: () => url });
    raise();
    await deliveryWhen((one) => one.at('state').text === 'delivered');
    server.close();
  });

  it('keep message id and payload over resends, with a new transmit time and signature', async () => {
    target.replies = ['reset', 'reset', 200];
    raise();
    await target.messages(1);
    await advance(sandbox, 30);
    const all = await target.messages(3);
    const different = (field: string): number =>
      new Set(all.map(({ message }) => JSON.stringify(message.at(field).value))).size;
    const fields = ['messageId', 'logCorrelationId', 'payload', 'transmitTime'];
    assert.deepEqual(fields.map(different), [1, 1, 1, 3]);
    for (const each of all) assertSigned(each, station.secret);
  });

  it('wait seconds before a resend, then up to an hour, then ten minutes more each time, and expire 24 hours after the event', async () => {
    await target.close();
    raise();
    await advance(sandbox, 86_390);
    assert.equal(await deliveryState(), 'pending');
    await advance(sandbox, 20);
    const expired = await delivery();
    assert.partialDeepStrictEqual(expired.value, { state: 'expired', nextAt: null });
    const times = expired.at('attempts').list.map((attempt) => Date.parse(attempt.at('at').text));
    const waits = times.slice(1).map((time, index) => Math.floor((time - (times[index] ?? 0)) / 1000));
    const later = Array.from({ length: waits.length - 6 }, (_, index) => 4200 + 600 * index);
    assert.deepEqual(waits, [5, 15, 60, 300, 900, 3600, ...later]);
    assert.ok(times.length > 15);
    assert.ok((times.at(-1) ?? 0) - (times[0] ?? 0) < 86_400_000);
  });

  it('reach an endpoint that comes back after hours', async () => {
    let url = 'http://127.0.0.1:9/';
    sandbox.setEndpoint('one', { station: 'north', url: () => url });
    raise();
    await advance(sandbox, 20 * 3600);
    ({ url } = target);
    await advance(sandbox, 3 * 3600);
    await target.message();
    assert.equal(await deliveryState(), 'delivered');
  });

  it('count the 24 hours of an end from the end, however long the alarm was', async () => {
    raise();
    await target.messages(1);
    await target.close();
    await advance(sandbox, 86_500);
    await advance(sandbox, 86_400 - 200);
    assert.equal(await deliveryState(1), 'pending');
    await advance(sandbox, 200);
    assert.equal(await deliveryState(1), 'expired');
  });

  for (const [what, remove] of [
    ['endpoint', () => sandbox.removeEndpoint('one')],
    ['station', () => sandbox.removeStation('north')],
  ] as const)
    it(`stop when their ${what} is removed`, async () => {
      target.replies = ['reset'];
      raise();
      await tried();
      remove();
      assert.equal(await deliveryState(), 'cancelled');
      raise();
      await advance(sandbox, 3600);
      assert.equal(target.received.length, 1);
    });

  it('take the phrase that is in force at each attempt', async () => {
    target.replies = ['reset', 200];
    raise();
    await target.messages(1);
    sandbox.setStation('north', { scheme: 'http', secret: 'a phrase of today' });
    await advance(sandbox, 6);
    assertSigned(await target.message(1), 'a phrase of today');
  });

  slowIt('are remembered within a bound', async () => {
    sandbox.setEndpoint('one', { station: 'north', url: () => undefined });
    for (let i = 0; i < 2100; i++) raise();
    assert.equal((await control(sandbox, 'GET', 'deliveries')).body.list.length, 2000);
  });
});
