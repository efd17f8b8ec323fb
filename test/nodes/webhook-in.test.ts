import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { alarmMessage, answerTo, post, sendUntilAnswered, signature } from '../support/webhook/alarm-message';
import { ChangingSetting, NodeRed, ROOT, type FlowNode } from '../support/node-red/node-red';
import {
  answered,
  arrived,
  factsOf,
  node,
  problemOf,
  raise,
  shows,
} from '../support/node-red/alarms-through';
import { fileInbox, PATH, PHRASE, station, webhookFlow, webhookIn } from '../support/node-red/flows';
import { NODE_RED_VERSIONS, nightlyIt, slowIt } from '../support/suite/lanes';
import { whileTimeFlies } from '../support/node-red/node-red-time';

const south = (secret: string): FlowNode =>
  station({ id: 'south-node', name: 'South', key: 'south', credentials: { secret } });

for (const version of NODE_RED_VERSIONS)
  describe(`webhook in on Node-RED ${version} with default settings`, () => {
    let nodeRed: NodeRed;
    let url: string;
    before(async () => {
      nodeRed = await NodeRed.start({ version });
      url = nodeRed.url + PATH;
      await nodeRed.deploy(webhookFlow());
    });
    after(() => nodeRed.stopAndRemove());

    const timesOf = ({ messageId }: Record<string, unknown>): number =>
      nodeRed.at('alarms').filter((msg) => factsOf(msg).messageId === messageId).length;

    it('sends a signed alarm to output 1 with the event, its copy and the facts about the message', async () => {
      const { payload, event, topic, ...msg } = await raise(nodeRed, { eventName: 'Fence climbed' });
      assert.partialDeepStrictEqual(payload, { eventName: 'Fence climbed', version: '1.0.0' });
      assert.equal('Version' in (payload as object), false);
      assert.deepEqual(event, payload);
      assert.equal(topic, 'security');
      const { text, ...facts } = factsOf(msg);
      const by = { station: 'north', stationName: 'North', proof: 'hmac', secret: 'current' };
      const what = { phase: 'start', first: true, attempt: 1, sandbox: false };
      assert.partialDeepStrictEqual(facts, { ...by, ...what });
      assert.match(text, /Fence climbed/);
      await shows(nodeRed, /^last \d/);
    });

    it('sets no property that its help does not name', async () => {
      const alarm = await raise(nodeRed);
      assert.equal((await post(url, alarmMessage())).status, 401);
      const { payload } = await nodeRed.message('problems');
      const help = fs.readFileSync(path.join(ROOT, 'dist/locales/en-US/rvm-webhook-in.html'), 'utf8');
      const own = Object.keys(alarm).filter((name) => name !== '_msgid');
      for (const name of [...own, ...Object.keys(factsOf(alarm)), ...Object.keys(payload as object)])
        assert.match(help, new RegExp(`\\b${name}\\b`), name);
    });

    it('proves the bytes as they were sent, white space and key order included', async () => {
      const body = JSON.stringify(alarmMessage(), null, 4).replace('"messageId"', '\n\t"messageId"') + '\n';
      assert.equal(await answered(nodeRed, body), 200);
    });

    for (const [title, body, phrase, status, topic, reason] of [
      ['an unsigned message', alarmMessage(), undefined, 401, 'unauthentic', 'no-signature'],
      ['one signed with another phrase', alarmMessage(), 'another', 401, 'unauthentic', 'bad-signature'],
      ['a signed body that is not JSON', 'not JSON at all', PHRASE, 200, 'dead-letter', 'not-json'],
    ] as const)
      it(`answers ${status} to ${title}, tells output 3, and takes the next good one`, async () => {
        const response = await post(url, body, phrase);
        assert.equal(response.status, status);
        assert.equal(response.headers.get('www-authenticate'), status === 401 ? 'HMAC-SHA256' : null);
        const problem = await nodeRed.message('problems', (msg) => problemOf(msg).reason === reason);
        assert.equal(problem.topic, topic);
        assert.equal('event' in problemOf(problem), false);
        await raise(nodeRed);
      });

    it('sends health events to output 2 and events of an unknown class to output 1', async () => {
      const health = alarmMessage({ eventClass: 'health', cameraId: null, cameraRemoteId: null });
      assert.equal(await answered(nodeRed, health), 200);
      await arrived(nodeRed, health, 'health');
      await raise(nodeRed, { eventClass: 'weather' });
    });

    it('answers 405 to GET and 413 to a body above 1 MiB', async () => {
      const get = await fetch(url);
      assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST']);
      // The connection may be closed before the client has sent everything.
      const large = await answered(nodeRed, 'x'.repeat(1024 * 1024 + 1)).catch(() => 413);
      assert.equal(large, 413);
    });

    it('takes a genuine body of nearly 1 MiB, and refuses a forged one', async () => {
      const note = 'x'.repeat(1024 * 1024 - 4096);
      assert.equal(await answered(nodeRed, alarmMessage({ note }), 'another phrase'), 401);
      await raise(nodeRed, { note });
    });

    it('leaves other paths to Node-RED', async () => {
      assert.equal((await fetch(`${nodeRed.url}/remote-monitoring/other`)).status, 404);
      assert.equal((await fetch(`${nodeRed.url}/settings`)).status, 200);
    });

    it('takes an alarm of a sender that asks for HTTP/2 with it', async () => {
      const message = alarmMessage();
      const body = JSON.stringify(message);
      const headers = {
        Authorization: signature(body, PHRASE),
        Connection: 'Upgrade, HTTP2-Settings',
        Upgrade: 'h2c',
        'HTTP2-Settings': 'AAMAAABkAAQAAP__',
      };
      const request = http.request(url, { method: 'POST', headers, agent: false });
      request.end(body);
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      response.resume();
      assert.equal(response.statusCode, 200);
      await arrived(nodeRed, message);
    });

    it('answers a repeat with 200 and delivers it once, also by the new instance after a deploy', async () => {
      const message = alarmMessage();
      for (let time = 0; time < 3; time += 1) assert.equal(await answered(nodeRed, message), 200);
      await raise(nodeRed);
      await nodeRed.deploy(webhookFlow());
      assert.equal(await answered(nodeRed, message), 200);
      await raise(nodeRed);
      assert.equal(timesOf(message), 1);
    });

    it('loses no alarm that arrives while flows are deployed: each is answered 200 or cut', async () => {
      const sent = Array.from({ length: 40 }, () => alarmMessage());
      const deploying = nodeRed.deploy(webhookFlow());
      const answers = await Promise.all(sent.map((message) => answerTo(url, message, PHRASE)));
      await deploying;
      assert.ok(
        answers.every((answer) => answer === 200 || answer === 'cut'),
        answers.join(),
      );
      for (const message of sent) assert.equal((await sendUntilAnswered(url, message, PHRASE)).at(-1), 200);
      for (const message of sent) await arrived(nodeRed, message);
    });
  });

describe('webhook in with other settings of Node-RED', () => {
  const AUTH = `httpNodeAuth: { user: 'u', pass: '$2b$08$abcdefghijklmnopqrstuuJ4m4m4m4m4m4m4m4m4m4m4m4m4m4m4m' },`;
  const API = "httpNodeRoot: '/api',";
  const ADMIN = "httpAdminRoot: '/admin',";
  const BLIND = 'disableEditor: true,';
  const EMBEDDED = 'embedded in a host app that parses JSON first,';

  for (const [define, title, settings, root, admin] of [
    [it, 'with a password, both roots and no editor', AUTH + API + ADMIN + BLIND, '/api', '/admin'],
    [nightlyIt, 'with httpNodeAuth set', AUTH, '', ''],
    [nightlyIt, 'with httpNodeRoot set', API, '/api', ''],
    [nightlyIt, 'with httpAdminRoot set', ADMIN, '', '/admin'],
    [nightlyIt, 'with disableEditor set', BLIND, '', ''],
    [slowIt, `${EMBEDDED} with roots`, `httpAdminRoot: '/red', ${API}`, '/api', '/red'],
    [nightlyIt, `${EMBEDDED} without roots`, "httpAdminRoot: '/', httpNodeRoot: '/',", '', ''],
  ] as const)
    define(`proves raw bytes ${title}`, async () => {
      const embedded = title.startsWith(EMBEDDED);
      await NodeRed.with({ settings, ...(embedded && { embedded }) }, async (nodeRed) => {
        await nodeRed.deploy(webhookFlow(), 'full', admin);
        const message = alarmMessage();
        assert.equal(await answered(nodeRed, JSON.stringify(message, null, 1), PHRASE, root + PATH), 200);
        assert.equal((await post(nodeRed.url + root + PATH, alarmMessage())).status, 401);
        await arrived(nodeRed, message);
        if (embedded) assert.equal(await (await fetch(`${nodeRed.url}/host`)).text(), 'the host itself');
      });
    });
});

describe('webhook in behind an httpNodeMiddleware', () => {
  const middleware = new ChangingSetting('httpNodeMiddleware');
  let nodeRed: NodeRed;
  before(async () => (nodeRed = await NodeRed.start({ settings: middleware.text })));
  after(async () => {
    await nodeRed.stopAndRemove();
    middleware.remove();
  });

  it('runs it: it may refuse with an answer of its own, and finds req and res as Express has them', async () => {
    middleware.set(`[
      (req, res, next) => { res.set('X-Seen', req.path + ' ' + req.get('x-kind')); next(); },
      (req, res, next) => { if (req.get('x-kind') === 'refused') res.status(403).json({ by: 'middleware' }); else next(); },
    ]`);
    await nodeRed.deploy(webhookFlow());
    const url = nodeRed.url + PATH;
    const refused = await post(url, alarmMessage(), PHRASE, { 'x-kind': 'refused' });
    assert.equal(refused.status, 403);
    assert.deepEqual(await refused.json(), { by: 'middleware' });
    const passed = await post(url, alarmMessage(), PHRASE, { 'x-kind': 'good' });
    assert.deepEqual([passed.status, passed.headers.get('x-seen')], [200, `${PATH} good`]);
  });

  const FAILS = `{ throw new Error('broken'); }`;
  for (const [title, failing, passes] of [
    ['rejects', `async () => ${FAILS}`, false],
    ['rejects as the second of two', `[(req, res, next) => next(), async () => ${FAILS}]`, false],
    ['throws after a pause', `[(req, res, next) => setTimeout(next, 5), () => ${FAILS}]`, false],
    ['rejects after it handed on', `async (req, res, next) => { next(); await null; ${FAILS} }`, true],
  ] as const)
    it(`C-137 lives on where it ${title}, and ${passes ? 'takes' : 'cuts'} the alarm`, async () => {
      middleware.set(failing);
      await nodeRed.deploy(webhookFlow());
      const message = alarmMessage();
      assert.equal(await answerTo(nodeRed.url + PATH, message, PHRASE), passes ? 200 : 'cut');
      if (passes) await arrived(nodeRed, message);
      assert.equal((await fetch(`${nodeRed.url}/settings`)).status, 200);
      assert.ok(nodeRed.isRunning);
    });
});

describe('webhook in that is not set up', () => {
  let nodeRed: NodeRed;
  let url: string;
  before(async () => {
    nodeRed = await NodeRed.start();
    url = nodeRed.url + PATH;
  });
  after(() => nodeRed.stopAndRemove());

  const twin = station({ id: 'twin-node', name: 'Twin', credentials: { secret: 'another phrase' } });
  const secretOf = (secret: string) => ({ station: { credentials: { secret } } });
  const UNSET = '${RVM_TEST_UNSET}';
  for (const [title, changes, status, phrase, ...further] of [
    ['its station has no phrase', secretOf(''), 'status.noSecret', PHRASE],
    ['C-26 its phrase is the text of an absent value', secretOf('undefined'), 'status.noSecret', 'undefined'],
    ['C-136 an unset variable stands for the secret', secretOf(UNSET), 'RVM_TEST_UNSET is not set', UNSET],
    ['it has no Central Station', { webhook: { station: '' } }, 'status.notConfigured', PHRASE],
    ['two stations have one key: whose is an event?', {}, 'status.notConfigured', PHRASE, twin],
  ] as const)
    it(`shows it, judges nothing, and gives no answer where ${title}`, async () => {
      await nodeRed.deploy(webhookFlow(changes, ...further));
      await shows(nodeRed, status);
      assert.equal(await whileTimeFlies(nodeRed, answerTo(url, alarmMessage(), phrase)), 'cut');
      if (further.length > 0) await nodeRed.logged(/The short name "north" belongs to "Twin" too/);
      await nodeRed.deploy(webhookFlow());
      assert.equal(await answered(nodeRed), 200);
    });

  for (const [title, changes, ...further] of [
    ['', { id: 'second' }],
    [' and an inbox of its own', { id: 'third', inbox: 'inbox' }, fileInbox('inbox-of-third')],
  ] as const)
    it(`C-98 turns red beside another node with the same path${title}, which keeps working`, async () => {
      await nodeRed.deploy(webhookFlow({}, webhookIn(changes), ...further));
      await shows(nodeRed, 'status.pathInUse', changes.id);
      assert.equal(await answered(nodeRed), 200);
    });

  it('counts problems in its status where output 3 is not wired, and logs them', async () => {
    await nodeRed.deploy(webhookFlow({ webhook: { wires: [['alarms'], ['health'], []] } }));
    assert.equal(await answered(nodeRed, 'not JSON at all'), 200);
    await shows(nodeRed, /^\d+ problems?$/);
    await nodeRed.logged(/see at the service what it told of\. \(dead-letter not-json; wire output 3/);
  });

  it('C-96 delivers an event whose Agent User id is empty, although another station has none configured', async () => {
    const agentUserId = '0b9f1c52-6a53-4e0f-9b0a-1f6a0c7d1e11';
    await nodeRed.deploy(webhookFlow({ station: { agentUserId } }, south('another')));
    await raise(nodeRed, { agentUserId: '' });
  });
});

describe('a flow file with many nodes', () => {
  slowIt('starts, deploys and stops without a warning of leaked listeners', async () => {
    const many = (make: (i: number) => FlowNode): FlowNode[] => Array.from({ length: 15 }, (_, i) => make(i));
    const flow = webhookFlow(
      {},
      ...many((i) => webhookIn({ id: `webhook-${i}`, path: `/remote-monitoring/${i}` })),
      ...many((i) => station({ id: `station-${i}`, key: `s-${i}`, credentials: { secret: `phrase ${i}` } })),
      ...many((i) => node('rvm-list-devices', { id: `list-${i}`, station: `station-${i}` })),
      ...many((i) => node('rvm-get-rtsp', { id: `rtsp-${i}`, station: 'station' })),
    );
    // Of too many listeners a process is told once.
    await NodeRed.with({ fresh: true }, async (nodeRed) => {
      await nodeRed.deploy(flow);
      await nodeRed.deploy(flow);
      await raise(nodeRed);
      assert.doesNotMatch(nodeRed.log, /MaxListenersExceeded/);
    });
  });
});

describe('webhook in over a restart of Node-RED', () => {
  slowIt('never answers 404 from the first moment: requests wait, or are cut', async () => {
    let nodeRed = await NodeRed.start();
    await nodeRed.deploy(webhookFlow());
    assert.equal(await answered(nodeRed), 200);
    await nodeRed.stop();

    const url = nodeRed.url + PATH;
    const { port, userDir } = nodeRed;
    const answers = new Set<number | string>();
    const started = new AbortController();
    const knocking = (async () => {
      for (let i = 0; i < 20_000 && !started.signal.aborted; i += 1) {
        answers.add(await answerTo(url, alarmMessage(), PHRASE));
        await delay(2);
      }
    })();
    nodeRed = await NodeRed.start({ port, userDir });
    started.abort();
    await knocking;
    assert.equal(await answered(nodeRed), 200);
    await nodeRed.stopAndRemove();
    assert.deepEqual(
      [...answers].filter((answer) => answer !== 200 && answer !== 'cut'),
      [],
    );
  });
});
