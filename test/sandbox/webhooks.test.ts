import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Sandbox } from '../../sandbox';
import { closeSandboxes, control, startSandbox, stateOf, type Json } from './service-client';
import { closeTargets, WebhookTarget } from './webhook-target';
import { slowIt } from '../support/suite/lanes';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const ZONELESS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}$/;

async function startWithTarget(
  scheme: 'http' | 'https' = 'http',
  options: Parameters<typeof startSandbox>[0] = {},
) {
  const sandbox = await startSandbox(options);
  const target = await WebhookTarget.start();
  const credentials = sandbox.setStation('north', { name: 'North', scheme });
  sandbox.setEndpoint('one', { station: 'north', url: () => target.url });
  return { sandbox, target, ...credentials };
}

async function cameraOf(sandbox: Sandbox, index = 0): Promise<Json> {
  return (await stateOf(sandbox)).at('cameras', index);
}

describe('the alarms of the sandbox', () => {
  afterEach(async () => {
    await closeSandboxes();
    await closeTargets();
  });

  it('come as an envelope with all fields of the specification', async () => {
    const { sandbox, target } = await startWithTarget();
    const { messageId } = sandbox.raiseAlarm();
    const { message, headers } = await target.message();
    assert.deepEqual(message.keys, [
      'payloadType',
      'version',
      'messageId',
      'transmitTime',
      'logCorrelationId',
      'authenticationToken',
      'payload',
    ]);
    assert.equal(message.at('payloadType').text, 'BlueEvent');
    assert.equal(message.at('version').text, '1.0.0');
    assert.equal(message.at('messageId').text, messageId);
    assert.match(message.at('transmitTime').text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.match(headers['content-type'] ?? '', /^application\/json/);
  });

  it('carry a payload with all fields of the specification, the version spelled Version', async () => {
    const { sandbox, target, agentUserId, agentUserTenantId } = await startWithTarget();
    const { alarmId } = sandbox.raiseAlarm();
    const payload = (await target.message()).message.at('payload');
    assert.deepEqual(
      payload.keys,
      (
        'Version agentUserId agentUserTenantId alarmId alarmTenantId eventClass eventName eventType eventRuleName ' +
        'eventStartTime eventEndTime entityTenantId locationId locationName serverId serverName ' +
        'cameraId cameraName cameraRemoteId clipId clipUri gatewayId'
      ).split(' '),
    );
    assert.equal(payload.at('Version').text, '1.0.0');
    assert.equal(payload.at('alarmId').text, alarmId);
    assert.equal(payload.at('agentUserId').text, agentUserId);
    assert.equal(payload.at('agentUserTenantId').text, agentUserTenantId);
    assert.equal(payload.at('eventClass').text, 'security');
    assert.equal(payload.at('eventRuleName').text, payload.at('eventName').text);
    for (const id of [
      'alarmId',
      'alarmTenantId',
      'entityTenantId',
      'locationId',
      'serverId',
      'cameraId',
      'clipId',
      'gatewayId',
    ]) {
      assert.match(payload.at(id).text, UUID);
    }
    for (const name of ['locationName', 'serverName', 'cameraName']) {
      assert.match(payload.at(name).text, /^SANDBOX /);
    }
  });

  it('tell the start time without zone, and null as the end while they last', async () => {
    const { sandbox, target } = await startWithTarget();
    const before = Date.now();
    sandbox.raiseAlarm();
    const after = Date.now();
    const payload = (await target.message()).message.at('payload');
    assert.match(payload.at('eventStartTime').text, ZONELESS);
    const started = Date.parse(`${payload.at('eventStartTime').text}Z`);
    assert.ok(started >= before && started <= after);
    assert.equal(payload.at('eventEndTime').value, null);
  });

  it('are compact JSON, proven over http by the HMAC of the bytes, with a null token', async () => {
    const { sandbox, target, secret } = await startWithTarget('http');
    sandbox.raiseAlarm();
    const { bytes, headers, message } = await target.message();
    const hmac = createHmac('sha256', Buffer.from(secret, 'utf8')).update(bytes).digest('base64');
    assert.equal(headers.authorization, `HMAC-SHA256 ${hmac}`);
    assert.equal(message.at('authenticationToken').value, null);
    assert.equal(String(bytes), JSON.stringify(message.value));
  });

  it('are proven over https by the phrase in the message, without a header', async () => {
    const { sandbox, target, secret } = await startWithTarget('https');
    sandbox.raiseAlarm();
    const { headers, message } = await target.message();
    assert.equal(message.at('authenticationToken').text, secret);
    assert.equal(headers.authorization, undefined);
  });

  it('are proven with a phrase beyond ASCII by its UTF-8 bytes', async () => {
    const { sandbox, target } = await startWithTarget();
    const secret = 'gate’s ünlocked at ten';
    sandbox.setStation('north', { scheme: 'http', secret });
    sandbox.raiseAlarm();
    const { bytes, headers } = await target.message();
    const hmac = createHmac('sha256', Buffer.from(secret, 'utf8')).update(bytes).digest('base64');
    assert.equal(headers.authorization, `HMAC-SHA256 ${hmac}`);
  });

  it('end after a while with a second message of the same alarm', async () => {
    const { sandbox, target } = await startWithTarget();
    const { alarmId } = sandbox.raiseAlarm({ seconds: 45 });
    await target.messages(1);
    await control(sandbox, 'POST', 'clock', { advance: 50 });
    const [start, end] = await target.messages(2);
    assert.ok(start !== undefined && end !== undefined);
    assert.equal(end.message.at('payload', 'alarmId').text, alarmId);
    assert.notEqual(end.message.at('messageId').text, start.message.at('messageId').text);
    assert.match(end.message.at('payload', 'eventEndTime').text, ZONELESS);
    const times = ['eventStartTime', 'eventEndTime'].map((field) => end.message.at('payload', field).text);
    const [startedAt, endedAt] = times.map((time) => Date.parse(`${time}Z`));
    assert.equal(Math.round(((endedAt ?? 0) - (startedAt ?? 0)) / 1000), 45);
    assert.equal(end.message.at('payload', 'clipId').text, start.message.at('payload', 'clipId').text);
  });

  it('last 20 s unless asked otherwise', async () => {
    const { sandbox, target } = await startWithTarget();
    sandbox.raiseAlarm();
    await target.messages(1);
    await control(sandbox, 'POST', 'clock', { advance: 30 });
    const payload = (await target.message(1)).message.at('payload');
    const times = ['eventStartTime', 'eventEndTime'].map((field) => Date.parse(`${payload.at(field).text}Z`));
    assert.equal(Math.round(((times[1] ?? 0) - (times[0] ?? 0)) / 1000), 20);
  });

  it('are of the camera asked for, by id, remote id or name', async () => {
    const { sandbox, target } = await startWithTarget();
    const camera = await cameraOf(sandbox, 5);
    for (const field of ['id', 'remoteId', 'name']) sandbox.raiseAlarm({ camera: camera.at(field).text });
    for (const { message } of await target.messages(3)) {
      assert.equal(message.at('payload', 'cameraId').text, camera.at('id').text);
      assert.equal(message.at('payload', 'cameraRemoteId').text, camera.at('remoteId').text);
      assert.equal(message.at('payload', 'cameraName').text, camera.at('name').text);
    }
  });

  it('have the name asked for', async () => {
    const { sandbox, target } = await startWithTarget();
    sandbox.raiseAlarm({ eventName: 'Forklift after hours' });
    assert.equal((await target.message()).message.at('payload', 'eventName').text, 'Forklift after hours');
  });

  it('are of one that is online where none is asked for', async () => {
    const { sandbox, target } = await startWithTarget('http', { cameras: 12 });
    const offline = (await stateOf(sandbox)).at('cameras', 7, 'id').text;
    for (let i = 0; i < 60; i++) sandbox.raiseAlarm();
    for (const { message } of await target.messages(60)) {
      assert.notEqual(message.at('payload', 'cameraId').text, offline);
    }
  });

  it('choose the same cameras with the same seed', async () => {
    const choices: string[][] = [];
    for (let run = 0; run < 2; run++) {
      const { sandbox, target } = await startWithTarget('http', { seed: 42 });
      const ids = Array.from({ length: 5 }, () => sandbox.raiseAlarm().messageId);
      const messages = await target.messages(5);
      const chosen = ids.map((id) => messages.find(({ message }) => message.at('messageId').text === id));
      choices.push(chosen.map((one) => one?.message.at('payload', 'cameraName').text ?? ''));
    }
    assert.deepEqual(choices[0], choices[1]);
  });

  it('of health have no clip, and without a camera no camera fields', async () => {
    const { sandbox, target } = await startWithTarget();
    sandbox.raiseAlarm({ eventClass: 'health' });
    const payload = (await target.message()).message.at('payload');
    assert.equal(payload.at('eventClass').text, 'health');
    for (const field of ['cameraId', 'cameraName', 'cameraRemoteId', 'clipId', 'clipUri']) {
      assert.equal(payload.has(field), false);
    }
    assert.match(payload.at('locationName').text, /^SANDBOX /);
  });

  it('of health can be of a camera', async () => {
    const { sandbox, target } = await startWithTarget();
    const camera = await cameraOf(sandbox);
    sandbox.raiseAlarm({ eventClass: 'health', camera: camera.at('id').text });
    const payload = (await target.message()).message.at('payload');
    assert.equal(payload.at('cameraId').text, camera.at('id').text);
    assert.equal(payload.has('clipId'), false);
  });

  it('go to every endpoint, each message with an id and an Agent User of its own', async () => {
    const { sandbox, target, agentUserId } = await startWithTarget();
    const second = await WebhookTarget.start();
    const third = await WebhookTarget.start();
    const south = sandbox.setStation('south', { scheme: 'https' });
    sandbox.setEndpoint('two', { station: 'south', url: () => second.url });
    sandbox.setEndpoint('three', { station: 'north', url: () => third.url });
    const { alarmId } = sandbox.raiseAlarm();
    const all = [await target.message(), await second.message(), await third.message()];
    assert.equal(new Set(all.map(({ message }) => message.at('messageId').text)).size, 3);
    assert.deepEqual(
      all.map(({ message }) => message.at('payload', 'agentUserId').text),
      [agentUserId, south.agentUserId, agentUserId],
    );
    for (const { message } of all) assert.equal(message.at('payload', 'alarmId').text, alarmId);
    assert.equal(all[1]?.message.at('authenticationToken').text, south.secret);
  });

  it('go nowhere where there is no endpoint', async () => {
    const sandbox = await startSandbox();
    sandbox.setStation('north', { scheme: 'http' });
    const { alarmId, messageId } = sandbox.raiseAlarm();
    assert.match(alarmId, UUID);
    assert.match(messageId, UUID);
    assert.deepEqual((await control(sandbox, 'GET', 'deliveries')).body.list, []);
  });

  it('come by themselves', async () => {
    const { target } = await startWithTarget('http', { eventsPerMinute: 600 });
    await target.messages(3);
  });

  slowIt('come soon for the first time, also where they are seldom', async () => {
    const { target } = await startWithTarget('http', { eventsPerMinute: 1 });
    await target.message();
  });

  slowIt('come by themselves in the rhythm asked for, security and health', async () => {
    const { target } = await startWithTarget('http', { eventsPerMinute: 600, seed: 3 });
    const classes = (await target.messages(30)).map(
      ({ message }) => message.at('payload', 'eventClass').text,
    );
    const security = classes.filter((eventClass) => eventClass === 'security').length;
    assert.ok(security > 15 && security < 30, `${security} of 30 are of security`);
  });

  slowIt('do not rain down when the clock is moved on', async () => {
    const { sandbox, target } = await startWithTarget('http', { eventsPerMinute: 1 });
    await target.message();
    await control(sandbox, 'POST', 'clock', { advance: 20 * 3600 });
    assert.ok(target.received.length <= 2);
  });

  it('have new ids in every run, even with the same seed', async () => {
    const one = (await startSandbox({ seed: 5 })).raiseAlarm();
    const two = (await startSandbox({ seed: 5 })).raiseAlarm();
    assert.notEqual(one.alarmId, two.alarmId);
    assert.notEqual(one.messageId, two.messageId);
  });
});
