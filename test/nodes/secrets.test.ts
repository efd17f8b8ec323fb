import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Sandbox } from '../../sandbox';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { PATH, webhookFlow } from '../support/node-red/flows';
import { setFault } from '../support/node-red/station-flow';
import { RecordingForwarder } from '../support/network/servers';
import { node } from '../support/node-red/alarms-through';
import { entrance, inject, NodeRed, probes, type FlowNode } from '../support/node-red/node-red';

const PLANTED = {
  apiKey: 'planted-key-4f1c',
  password: 'Planted-Password-7a',
  loginExtra: 'planted-extra-9b',
  phrase: 'planted phrase don\u2019t tell 3e',
  previous: 'planted previous phrase 5d',
  wrong: 'planted wrong token 1c',
};

describe('planted secrets', () => {
  const nodeRed = NodeRed.ofGroup();
  let sandbox: Sandbox;
  let forwarder: RecordingForwarder;
  const rtspUrls: string[] = [];
  const adminAnswers: string[] = [];

  before(async () => {
    sandbox = await Sandbox.start({ apiKey: PLANTED.apiKey, eventsPerMinute: 0, rtspPort: 0, seed: 3 });
    sandbox.setStation('north', { scheme: 'https', username: 'agent', password: PLANTED.password });
    forwarder = await RecordingForwarder.start(sandbox.url);
    await useEverything();
    await collectAdminAnswers();
    assert.ok(forwarder.cookies.length > 0 && rtspUrls.length > 0, 'there is something to look for');
  });
  after(async () => {
    await forwarder.close();
    await sandbox.close();
  });

  function flow(): FlowNode[] {
    const { apiKey, password, loginExtra, phrase: secret, previous: previousSecret } = PLANTED;
    const extra = JSON.stringify({ extra: loginExtra });
    const asked = (id: string, type: string, properties: object = {}): FlowNode =>
      node(type, { id, station: 'station', wires: [['called'], ['failed']], ...properties });
    return webhookFlow(
      {
        cloud: { url: forwarder.url, credentials: { apiKey, loginExtra: extra } },
        station: { scheme: 'https', credentials: { username: 'agent', password, secret, previousSecret } },
      },
      asked('list', 'rvm-list-devices', { wires: [['listed'], ['failed']] }),
      asked('rtsp', 'rvm-get-rtsp', { deadline: 2, wires: [['video'], ['failed']] }),
      asked('device', 'rvm-get-device'),
      asked('ptz', 'rvm-ptz', { action: 'goto-home' }),
      asked('snapshot', 'rvm-snapshot'),
      asked('request', 'rvm-request'),
      asked('link', 'rvm-request', { start: 'url' }),
      node('http in', { url: '/verify', method: 'post', skipBodyParsing: true, wires: [['verify']] }),
      asked('verify', 'rvm-verify', { wires: ['verified', 'refused'].map((id) => [id, 'answer']) }),
      node('http response', { id: 'answer', statusCode: '', headers: {} }),
      ...probes('verified', 'refused', 'listed', 'video', 'failed', 'called'),
      ...entrance('in', 'list'),
      ...entrance('call', 'device', 'ptz', 'snapshot', 'request', 'link'),
      ...entrance('event', 'rtsp'),
    );
  }

  /** Good and bad input of every kind, so that every place that could write a secret gets its chance. */
  async function useEverything(): Promise<void> {
    await nodeRed.deploy(flow());
    for (const url of [nodeRed.url + PATH, `${nodeRed.url}/verify`]) await postEverything(url);
    await nodeRed.message('alarms');
    await nodeRed.message('verified');
    await nodeRed.message('refused');

    await inject(nodeRed, 'in', {});
    const listed = await nodeRed.message('listed');
    const camera = (listed.payload as { id: string; online: boolean }[]).find((device) => device.online);
    const event = { cameraId: camera?.id, eventStartTime: '2026-03-04T05:06:07' };
    await inject(nodeRed, 'event', { event });
    rtspUrls.push(String((await nodeRed.message('video')).payload));
    await inject(nodeRed, 'event', { event: { ...event, cameraId: 'unknown' } });
    await nodeRed.message('failed');

    const outcomes = (): number => nodeRed.at('called').length + nodeRed.at('failed').length;
    const before = outcomes();
    const url = 'https://elsewhere.example/';
    await inject(nodeRed, 'call', { event: { cameraId: camera?.id }, url });
    await nodeRed.until(() => outcomes() === before + 5, 'the other calls');
    assert.ok(nodeRed.at('called').length >= 3);

    await setFault(sandbox, { kind: 'status', status: 500, relation: 'rel/rtsp' });
    await nodeRed.next('failed', () => inject(nodeRed, 'event', { event }));
  }

  async function postEverything(url: string): Promise<void> {
    for (const [authenticationToken, status] of [
      [PLANTED.phrase, 200],
      [PLANTED.previous, 200],
      [PLANTED.wrong, 401],
    ] as const)
      assert.equal((await post(url, alarmMessage({}, { authenticationToken }))).status, status);
    await post(url, `{"authenticationToken":"${PLANTED.phrase}", broken`);
    await post(url, alarmMessage({}, { authenticationToken: PLANTED.phrase, messageId: null }));
    await post(url, alarmMessage(), PLANTED.phrase, { 'X-Secret': PLANTED.wrong });
  }

  async function collectAdminAnswers(): Promise<void> {
    const credentials = ['rvm-cloud/cloud', 'rvm-central-station/station'].map((id) => `credentials/${id}`);
    const places = ['flows', 'settings', 'nodes', ...credentials];
    for (const place of places) {
      const response = await fetch(`${nodeRed.url}/${place}`, { headers: { Accept: 'application/json' } });
      adminAnswers.push(await response.text());
    }
  }

  function assertAbsent(text: string, where: string, secrets: readonly string[]): void {
    for (const secret of secrets) {
      const base64 = Buffer.from(secret).toString('base64').replace(/=+$/, '');
      for (const [form, written] of [
        ['as it is', secret],
        ['encoded', encodeURIComponent(secret)],
        ['as base64', base64],
      ] as const)
        assert.equal(text.includes(written), false, `a secret stands ${form} in ${where}`);
    }
  }

  const secrets = Object.values(PLANTED);

  it('stand in no line of the log, at its most talkative', () => {
    assertAbsent(nodeRed.log, 'the log', [...secrets, ...rtspUrls, ...forwarder.cookies]);
    assert.doesNotMatch(nodeRed.log, /rtsp:\/\/\S+\/\S+/);
  });

  it('stand in no message: not in events, problems, lists, errors or statuses', () =>
    assertAbsent(JSON.stringify(nodeRed.seen), 'a message', [...secrets, ...forwarder.cookies]));

  it('the RTSP URL stands only in the result of get RTSP', () => {
    const others = nodeRed.seen.filter((entry) => entry.probe !== 'video');
    assertAbsent(JSON.stringify(others), 'another message', rtspUrls);
  });

  it('stand in no admin answer and in no exported flow', () => {
    assertAbsent(adminAnswers.join('\n'), 'an admin answer', [...secrets, ...rtspUrls, ...forwarder.cookies]);
    assertAbsent(fs.readFileSync(path.join(nodeRed.userDir, 'flows.json'), 'utf8'), 'the flow file', secrets);
  });

  it('stand in no file that the package writes', () => {
    const folder = path.join(nodeRed.userDir, 'remote-monitoring');
    const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    assert.ok(files.some(({ name }) => name.startsWith('inbox.sqlite')));
    for (const { name, parentPath } of files)
      assertAbsent(fs.readFileSync(path.join(parentPath, name), 'latin1'), name, secrets);
  });

  it('never reach the message through the proof: authenticationToken and Authorization are gone', () => {
    const text = JSON.stringify(nodeRed.seen.filter((entry) => entry.probe !== 'status'));
    assert.doesNotMatch(text, /authenticationToken|HMAC-SHA256 /i);
  });
});
