import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Sandbox, SandboxOptions } from '../../sandbox';
import { closeSandboxes, control, startSandbox, stateOf, type Json } from './service-client';
import { closeTargets, type Received, WebhookTarget } from './webhook-target';
import { slowIt } from '../support/suite/lanes';

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
const advance = (seconds: number) => control(sandbox, 'POST', 'clock', { advance: seconds });

function assertSigned({ bytes, headers }: Received, phrase: string): void {
  const hmac = createHmac('sha256', Buffer.from(phrase, 'utf8')).update(bytes).digest('base64');
  assert.equal(headers.authorization, `HMAC-SHA256 ${hmac}`);
}

/** Seconds from the start of an event to its end. */
function lengthOf(payload: Json): number {
  const [from = NaN, to = NaN] = ['eventStartTime', 'eventEndTime'].map((field) =>
    Date.parse(`${payload.at(field).text}Z`),
  );
  return Math.round((to - from) / 1000);
}

describe('the alarms of the sandbox', () => {
  afterEach(async () => {
    await closeSandboxes();
    await closeTargets();
  });

  it('come as an envelope with all fields of the specification', async () => {
    await start();
    const { messageId } = sandbox.raiseAlarm();
    const { message, headers } = await target.message();
    assert.deepEqual(message.keys, ENVELOPE.split(' '));
    assert.partialDeepStrictEqual(message.value, { payloadType: 'BlueEvent', version: '1.0.0', messageId });
    assert.match(message.at('transmitTime').text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.match(headers['content-type'] ?? '', /^application\/json/);
  });

  it('carry a payload with all fields of the specification, the version spelled Version', async () => {
    await start();
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
    await start();
    const before = Date.now();
    sandbox.raiseAlarm();
    const after = Date.now();
    const payload = await payloadOf();
    assert.match(payload.at('eventStartTime').text, ZONELESS);
    const started = Date.parse(`${payload.at('eventStartTime').text}Z`);
    assert.ok(started >= before && started <= after);
    assert.equal(payload.at('eventEndTime').value, null);
  });

  it('are compact JSON, proven over http by the HMAC of the bytes, with a null token', async () => {
    await start('http');
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
    await start();
    const secret = 'gate’s ünlocked at ten';
    sandbox.setStation('north', { scheme: 'http', secret });
    sandbox.raiseAlarm();
    assertSigned(await target.message(), secret);
  });

  it('end after a while with a second message of the same alarm', async () => {
    await start();
    const { alarmId } = sandbox.raiseAlarm({ seconds: 45 });
    const { message } = await target.message();
    await advance(50);
    const end = await target.message(1);
    const payload = end.message.at('payload');
    const clipId = message.at('payload', 'clipId').text;
    assert.partialDeepStrictEqual(payload.value, { alarmId, clipId });
    assert.notEqual(end.message.at('messageId').text, message.at('messageId').text);
    assert.match(payload.at('eventEndTime').text, ZONELESS);
    assert.equal(lengthOf(payload), 45);
  });

  it('last 20 s unless asked otherwise', async () => {
    await start();
    sandbox.raiseAlarm();
    await target.message();
    await advance(30);
    assert.equal(lengthOf(await payloadOf(1)), 20);
  });

  for (const field of ['id', 'remoteId', 'name'])
    it(`are of the camera asked for by its ${field}`, async () => {
      await start();
      const camera = await cameraOf(5);
      sandbox.raiseAlarm({ camera: camera.at(field).text });
      const [cameraId, cameraRemoteId, cameraName] = ['id', 'remoteId', 'name'].map(
        (each) => camera.at(each).text,
      );
      assert.partialDeepStrictEqual((await payloadOf()).value, { cameraId, cameraRemoteId, cameraName });
    });

  it('have the name asked for', async () => {
    await start();
    sandbox.raiseAlarm({ eventName: 'Forklift after hours' });
    assert.equal((await payloadOf()).at('eventName').text, 'Forklift after hours');
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

  it('of health have no clip, and without a camera no camera fields', async () => {
    await start();
    sandbox.raiseAlarm({ eventClass: 'health' });
    const payload = await payloadOf();
    assert.equal(payload.at('eventClass').text, 'health');
    for (const field of ['cameraId', 'cameraName', 'cameraRemoteId', 'clipId', 'clipUri'])
      assert.equal(payload.has(field), false);
    assert.match(payload.at('locationName').text, /^SANDBOX /);
  });

  it('of health can be of a camera', async () => {
    await start();
    const camera = (await cameraOf(0)).at('id').text;
    sandbox.raiseAlarm({ eventClass: 'health', camera });
    const payload = await payloadOf();
    assert.deepEqual([payload.at('cameraId').text, payload.has('clipId')], [camera, false]);
  });

  it('go to every endpoint, each message with an id and an Agent User of its own', async () => {
    await start();
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
    await start();
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
      await advance(20 * 3600);
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
    assert.notEqual(one.alarmId, two.alarmId);
    assert.notEqual(one.messageId, two.messageId);
  });
});
