import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { alarmMessage, answerTo, post, sendUntilAnswered, signature } from '../support/webhook/alarm-message';
import {
  ChangingSetting,
  NodeRed,
  ROOT,
  type FlowNode,
  type StartOptions,
} from '../support/node-red/node-red';
import { PATH, PHRASE, station, webhookFlow, webhookIn } from '../support/node-red/flows';
import { NODE_RED_VERSIONS, nightlyIt, slowIt } from '../support/suite/lanes';
import { whileTimeFlies } from '../support/node-red/node-red-time';

type Webhook = Record<string, unknown>;

for (const version of NODE_RED_VERSIONS) {
  describe(`webhook in on Node-RED ${version} with default settings`, () => {
    let nodeRed: NodeRed;
    let url: string;

    before(async () => {
      nodeRed = await NodeRed.start({ version });
      url = nodeRed.url + PATH;
      await nodeRed.deploy(webhookFlow());
    });

    after(() => nodeRed.stopAndRemove());

    it('sends a signed alarm to output 1 with the event, its copy and the facts about the message', async () => {
      const message = alarmMessage({ eventName: 'Fence climbed' });
      const response = await post(url, message, PHRASE);
      assert.equal(response.status, 200);

      const msg = await nodeRed.message('alarms', (seen) => messageId(seen) === message.messageId);
      const event = msg.payload as Record<string, unknown>;
      assert.equal(event.eventName, 'Fence climbed');
      assert.equal(event.version, '1.0.0');
      assert.equal('Version' in event, false);
      assert.deepEqual(msg.event, msg.payload);
      assert.equal(msg.topic, 'security');
      const webhook = msg.webhook as Webhook;
      assert.equal(webhook.station, 'north');
      assert.equal(webhook.stationName, 'North');
      assert.equal(webhook.proof, 'hmac');
      assert.equal(webhook.secret, 'current');
      assert.equal(webhook.phase, 'start');
      assert.equal(webhook.first, true);
      assert.equal(webhook.attempt, 1);
      assert.equal(webhook.sandbox, false);
      assert.match(String(webhook.text), /Fence climbed/);
    });

    it('sets no property that its help does not name', async () => {
      assert.equal((await post(url, alarmMessage(), PHRASE)).status, 200);
      assert.equal((await post(url, alarmMessage())).status, 401);
      const alarm = await nodeRed.message('alarms');
      const problem = await nodeRed.message('problems');
      const help = fs.readFileSync(path.join(ROOT, 'dist/locales/en-US/rvm-webhook-in.html'), 'utf8');
      const own = Object.keys(alarm).filter((name) => name !== '_msgid');
      const names = [
        ...own,
        ...Object.keys(alarm.webhook as object),
        ...Object.keys(problem.payload as object),
      ];
      for (const name of names) assert.match(help, new RegExp(`\\b${name}\\b`), name);
    });

    it('proves the bytes as they were sent, white space and key order included', async () => {
      const body = JSON.stringify(alarmMessage(), null, 4).replace('"messageId"', '\n\t"messageId"') + '\n';
      assert.equal((await post(url, body, PHRASE)).status, 200);
    });

    it('answers 401 to an unsigned message, tells output 3, and takes the next good one', async () => {
      const response = await post(url, alarmMessage());
      assert.equal(response.status, 401);
      assert.equal(response.headers.get('www-authenticate'), 'HMAC-SHA256');
      const problem = await nodeRed.message('problems', (msg) => reason(msg) === 'no-signature');
      assert.equal(problem.topic, 'unauthentic');
      assert.equal('event' in (problem.payload as object), false);
      assert.equal((await post(url, alarmMessage(), PHRASE)).status, 200);
    });

    it('answers 401 to a message signed with another phrase', async () => {
      assert.equal((await post(url, alarmMessage(), 'another phrase')).status, 401);
      await nodeRed.message('problems', (msg) => reason(msg) === 'bad-signature');
    });

    it('answers a repeat with 200 and delivers it once', async () => {
      const message = alarmMessage();
      const answers = [];
      for (let i = 0; i < 3; i += 1) answers.push((await post(url, message, PHRASE)).status);
      const last = alarmMessage();
      await post(url, last, PHRASE);
      await nodeRed.message('alarms', (msg) => messageId(msg) === last.messageId);
      assert.deepEqual(answers, [200, 200, 200]);
      assert.equal(nodeRed.at('alarms').filter((msg) => messageId(msg) === message.messageId).length, 1);
    });

    it('sends health events to output 2 and events of an unknown class to output 1', async () => {
      const health = alarmMessage({ eventClass: 'health', cameraId: null, cameraRemoteId: null });
      const unknown = alarmMessage({ eventClass: 'weather' });
      assert.equal((await post(url, health, PHRASE)).status, 200);
      assert.equal((await post(url, unknown, PHRASE)).status, 200);
      await nodeRed.message('health', (msg) => messageId(msg) === health.messageId);
      await nodeRed.message('alarms', (msg) => messageId(msg) === unknown.messageId);
    });

    it('keeps a signed body that is not JSON as a dead letter and answers 200', async () => {
      assert.equal((await post(url, 'not JSON at all', PHRASE)).status, 200);
      const problem = await nodeRed.message('problems', (msg) => reason(msg) === 'not-json');
      assert.equal(problem.topic, 'dead-letter');
    });

    it('answers 405 to GET and 413 to a body above 1 MiB', async () => {
      const get = await fetch(url);
      assert.equal(get.status, 405);
      assert.equal(get.headers.get('allow'), 'POST');
      const large = await post(url, 'x'.repeat(1024 * 1024 + 1), PHRASE).then(
        (response) => response.status,
        () => 413, // the connection may be closed before the client has sent everything
      );
      assert.equal(large, 413);
    });

    it('takes a genuine body of nearly 1 MiB, and refuses a forged one', async () => {
      const message = alarmMessage({ note: 'x'.repeat(1024 * 1024 - 4096) });
      assert.equal((await post(url, message, 'another phrase')).status, 401);
      assert.equal((await post(url, message, PHRASE)).status, 200);
      await nodeRed.message('alarms', (msg) => messageId(msg) === message.messageId);
    });

    it('leaves other paths to Node-RED', async () => {
      assert.equal((await fetch(`${nodeRed.url}/remote-monitoring/other`)).status, 404);
      assert.equal((await fetch(`${nodeRed.url}/settings`)).status, 200);
    });

    it('takes an alarm of a sender that asks for HTTP/2 with it', async () => {
      const message = alarmMessage();
      const body = JSON.stringify(message);
      const request = http.request(url, {
        method: 'POST',
        headers: {
          Authorization: signature(body, PHRASE),
          Connection: 'Upgrade, HTTP2-Settings',
          Upgrade: 'h2c',
          'HTTP2-Settings': 'AAMAAABkAAQAAP__',
        },
        agent: false,
      });
      request.end(body);
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      response.resume();
      assert.equal(response.statusCode, 200);
      await nodeRed.message('alarms', (msg) => messageId(msg) === message.messageId);
    });

    it('shows the time of the last alarm as its status', async () => {
      await post(url, alarmMessage(), PHRASE);
      await nodeRed.until(() => /^last \d/.test(nodeRed.statuses('webhook').at(-1) ?? ''), 'the status');
    });

    it('delivers to the new instance after a deploy, and still knows what came before', async () => {
      const before = alarmMessage();
      await post(url, before, PHRASE);
      await nodeRed.deploy(webhookFlow());
      const after = alarmMessage();
      assert.equal((await post(url, before, PHRASE)).status, 200);
      assert.equal((await post(url, after, PHRASE)).status, 200);
      await nodeRed.message('alarms', (msg) => messageId(msg) === after.messageId);
      assert.equal(nodeRed.at('alarms').filter((msg) => messageId(msg) === before.messageId).length, 1);
    });

    it('loses no alarm that arrives while flows are deployed: each is answered 200 or cut', async () => {
      const sent = Array.from({ length: 40 }, () => alarmMessage());
      const deploying = nodeRed.deploy(webhookFlow());
      const answers = await Promise.all(sent.map((message) => answerTo(url, message, PHRASE)));
      await deploying;
      assert.deepEqual(
        [...new Set(answers)].filter((answer) => answer !== 200 && answer !== 'cut'),
        [],
      );
      for (const message of sent) assert.equal((await sendUntilAnswered(url, message, PHRASE)).at(-1), 200);
      for (const message of sent)
        await nodeRed.message('alarms', (msg) => messageId(msg) === message.messageId);
    });
  });
}

describe('webhook in with other settings of Node-RED', () => {
  const AUTH = `httpNodeAuth: { user: 'u', pass: '$2b$08$abcdefghijklmnopqrstuuJ4m4m4m4m4m4m4m4m4m4m4m4m4m4m4m' },`;
  const API = "httpNodeRoot: '/api',";
  const ADMIN = "httpAdminRoot: '/admin',";
  const BLIND = 'disableEditor: true,';

  /** Proves an alarm, below the roots of its paths and of the admin API. */
  async function proves(options: StartOptions, root: string, admin: string): Promise<void> {
    const nodeRed = await NodeRed.start(options);
    try {
      await nodeRed.deploy(webhookFlow(), 'full', admin);
      const url = nodeRed.url + root + PATH;
      const message = alarmMessage();
      assert.equal((await post(url, JSON.stringify(message, null, 1), PHRASE)).status, 200);
      assert.equal((await post(url, alarmMessage())).status, 401);
      await nodeRed.message('alarms', (msg) => messageId(msg) === message.messageId);
      if (options.embedded === true)
        assert.equal(await (await fetch(`${nodeRed.url}/host`)).text(), 'the host itself');
    } finally {
      await nodeRed.stopAndRemove();
    }
  }

  it('proves raw bytes with a password, both roots and no editor', () =>
    proves({ settings: AUTH + API + ADMIN + BLIND }, '/api', '/admin'));

  for (const [settings, root, admin] of [
    [AUTH, '', ''],
    [API, '/api', ''],
    [ADMIN, '', '/admin'],
    [BLIND, '', ''],
  ] as const)
    nightlyIt(`proves raw bytes with ${settings.split(':', 1)[0]} set`, () =>
      proves({ settings }, root, admin),
    );

  slowIt('proves raw bytes embedded in a host app that parses JSON first, with roots', () =>
    proves({ embedded: true, settings: "httpAdminRoot: '/red', httpNodeRoot: '/api'," }, '/api', '/red'),
  );

  nightlyIt('proves raw bytes embedded in a host app that parses JSON first, without roots', () =>
    proves({ embedded: true, settings: "httpAdminRoot: '/', httpNodeRoot: '/'," }, '', ''),
  );
});

describe('webhook in behind an httpNodeMiddleware', () => {
  const middleware = new ChangingSetting('httpNodeMiddleware');
  let nodeRed: NodeRed;

  before(async () => {
    nodeRed = await NodeRed.start({ settings: middleware.text });
  });

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
    assert.equal(passed.status, 200);
    assert.equal(passed.headers.get('x-seen'), `${PATH} good`);
  });

  const failures: [string, string, boolean][] = [
    ['rejects', `async () => { throw new Error('broken'); }`, false],
    [
      'rejects as the second of two',
      `[(req, res, next) => next(), async () => { throw new Error('broken'); }]`,
      false,
    ],
    [
      'throws after a pause',
      `[(req, res, next) => setTimeout(next, 5), () => { throw new Error('broken'); }]`,
      false,
    ],
    [
      'rejects after it handed on',
      `async (req, res, next) => { next(); await null; throw new Error('broken'); }`,
      true,
    ],
  ];
  for (const [title, failing, passes] of failures) {
    it(`C-137 lives on where it ${title}, and ${passes ? 'takes' : 'cuts'} the alarm`, async () => {
      middleware.set(failing);
      await nodeRed.deploy(webhookFlow());
      const message = alarmMessage();
      const outcome = await answerTo(nodeRed.url + PATH, message, PHRASE);
      assert.equal(outcome, passes ? 200 : 'cut');
      if (passes) await nodeRed.message('alarms', (msg) => messageId(msg) === message.messageId);
      assert.equal((await fetch(`${nodeRed.url}/settings`)).status, 200);
      assert.ok(nodeRed.isRunning);
    });
  }
});

describe('webhook in that is not set up', () => {
  let nodeRed: NodeRed;
  let url: string;

  before(async () => {
    nodeRed = await NodeRed.start();
    url = nodeRed.url + PATH;
  });

  after(() => nodeRed.stopAndRemove());

  /** The one answer that makes the service send again: none. */
  async function isCut(message = alarmMessage(), phrase = PHRASE): Promise<boolean> {
    return (await whileTimeFlies(nodeRed, answerTo(url, message, phrase))) === 'cut';
  }

  it('shows "no secret" and gives no answer while its station has no phrase', async () => {
    await nodeRed.deploy(
      webhookFlow({ station: { credentials: { username: 'agent', password: 'p', secret: '' } } }),
    );
    await nodeRed.until(() => nodeRed.statuses('webhook').at(-1) === 'status.noSecret', 'the status');
    assert.ok(await isCut());
  });

  it('C-136 names an unset variable that stands for the secret, and judges nothing by its text', async () => {
    const text = '${RVM_TEST_UNSET}';
    await nodeRed.deploy(webhookFlow({ station: { credentials: { secret: text } } }));
    await nodeRed.until(
      () => nodeRed.statuses('webhook').at(-1) === 'RVM_TEST_UNSET is not set',
      'the status',
    );
    assert.ok(await isCut(alarmMessage(), text));
    await nodeRed.deploy(webhookFlow());
    assert.equal((await post(url, alarmMessage(), PHRASE)).status, 200);
  });

  it('C-98 turns red beside another node with the same path, which keeps working', async () => {
    await nodeRed.deploy(webhookFlow({}, webhookIn({ id: 'second' })));
    await nodeRed.until(() => nodeRed.statuses('second').at(-1) === 'status.pathInUse', 'the status');
    assert.equal((await post(url, alarmMessage(), PHRASE)).status, 200);
  });

  it('counts problems in its status where output 3 is not wired, and logs them', async () => {
    await nodeRed.deploy(webhookFlow({ webhook: { wires: [['alarms'], ['health'], []] } }));
    assert.equal((await post(url, 'not JSON at all', PHRASE)).status, 200);
    await nodeRed.until(() => /^\d+ problems?$/.test(nodeRed.statuses('webhook').at(-1) ?? ''), 'the status');
    await nodeRed.logged(/see at the service what it told of\. \(dead-letter not-json; wire output 3/);
  });

  it('says "not configured" without a Central Station', async () => {
    await nodeRed.deploy(webhookFlow({ webhook: { station: '', cloud: '' } }));
    await nodeRed.until(() => nodeRed.statuses('webhook').at(-1) === 'status.notConfigured', 'the status');
  });

  it('C-95 serves all stations of a cloud on one path, told apart by their phrases', async () => {
    const south = station({
      id: 'south-node',
      name: 'South',
      key: 'south',
      credentials: { secret: 'another phrase' },
    });
    await nodeRed.deploy(webhookFlow({ webhook: { station: '', cloud: 'cloud' } }, south));
    const [north, other] = [alarmMessage(), alarmMessage()];
    assert.equal((await post(url, north, PHRASE)).status, 200);
    assert.equal((await post(url, other, 'another phrase')).status, 200);
    const first = await nodeRed.message('alarms', (msg) => messageId(msg) === north.messageId);
    const second = await nodeRed.message('alarms', (msg) => messageId(msg) === other.messageId);
    assert.equal((first.webhook as Webhook).station, 'north');
    assert.equal((second.webhook as Webhook).station, 'south');
  });

  it('accepts the phrase in the message where the endpoint is registered as https://', async () => {
    await nodeRed.deploy(webhookFlow({ station: { scheme: 'https' } }));
    const message = alarmMessage({}, { authenticationToken: PHRASE });
    assert.equal((await post(url, message)).status, 200);
    const msg = await nodeRed.message('alarms', (seen) => messageId(seen) === message.messageId);
    assert.equal((msg.webhook as Webhook).proof, 'token');
    assert.equal(JSON.stringify(msg).includes(PHRASE), false);
    for (const wrong of [null, 'wrong', '', 7, [PHRASE], { a: PHRASE }, true]) {
      assert.equal(
        (await post(url, alarmMessage({}, { authenticationToken: wrong }))).status,
        401,
        JSON.stringify(wrong),
      );
    }
  });

  it('C-96 delivers an event whose Agent User id is empty, although another station has none configured', async () => {
    const agentUserId = '0b9f1c52-6a53-4e0f-9b0a-1f6a0c7d1e11';
    const south = station({
      id: 'south-node',
      name: 'South',
      key: 'south',
      credentials: { secret: 'another' },
    });
    await nodeRed.deploy(webhookFlow({ station: { agentUserId } }, south));
    const message = alarmMessage({ agentUserId: '' });
    assert.equal((await post(url, message, PHRASE)).status, 200);
    await nodeRed.message('alarms', (msg) => messageId(msg) === message.messageId);
  });

  it('lets neither of two stations with the same key receive, for their events could not be told apart', async () => {
    const twin = station({ id: 'twin-node', name: 'Twin', credentials: { secret: 'another phrase' } });
    await nodeRed.deploy(webhookFlow({}, twin));
    await nodeRed.until(() => nodeRed.statuses('webhook').at(-1) === 'status.notConfigured', 'the status');
    await nodeRed.logged(/The short name "north" belongs to "Twin" too/);
    assert.ok(await isCut());
  });

  it('C-26 shows "no secret" for a phrase that is the text of an absent value, and judges nothing by it', async () => {
    await nodeRed.deploy(webhookFlow({ station: { credentials: { secret: 'undefined' } } }));
    await nodeRed.until(() => nodeRed.statuses('webhook').at(-1) === 'status.noSecret', 'the status');
    assert.ok(await isCut());
  });

  it('reports two stations with the same phrase, on both', async () => {
    await nodeRed.deploy(webhookFlow({}, station({ id: 'twin-node', name: 'Twin', key: 'twin' })));
    await nodeRed.until(
      () => (nodeRed.log.match(/has the same Shared Secret Phrase as "/g)?.length ?? 0) >= 2,
      'both errors',
    );
  });
});

describe('a flow file with many nodes', () => {
  slowIt('starts, deploys and stops without a warning of leaked listeners', async () => {
    const many = (make: (i: number) => FlowNode): FlowNode[] => Array.from({ length: 15 }, (_, i) => make(i));
    const uses = { z: 'tab', x: 0, y: 0, wires: [[], []] };
    const flow = webhookFlow(
      {},
      ...many((i) => webhookIn({ id: `webhook-${i}`, path: `/remote-monitoring/${i}` })),
      ...many((i) => station({ id: `station-${i}`, key: `s-${i}`, credentials: { secret: `phrase ${i}` } })),
      ...many((i) => ({ id: `list-${i}`, type: 'rvm-list-devices', station: `station-${i}`, ...uses })),
      ...many((i) => ({ id: `rtsp-${i}`, type: 'rvm-get-rtsp', station: 'station', ...uses })),
    );
    // Of too many listeners a process is told once.
    const nodeRed = await NodeRed.start({ fresh: true });
    try {
      await nodeRed.deploy(flow);
      await nodeRed.deploy(flow);
      assert.equal((await post(nodeRed.url + PATH, alarmMessage(), PHRASE)).status, 200);
      await nodeRed.message('alarms');
      assert.doesNotMatch(nodeRed.log, /MaxListenersExceeded/);
    } finally {
      await nodeRed.stopAndRemove();
    }
  });
});

describe('webhook in over a restart of Node-RED', () => {
  slowIt('never answers 404 from the first moment: requests wait, or are cut', async () => {
    let nodeRed = await NodeRed.start();
    await nodeRed.deploy(webhookFlow());
    assert.equal((await post(nodeRed.url + PATH, alarmMessage(), PHRASE)).status, 200);
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
    assert.equal((await post(url, alarmMessage(), PHRASE)).status, 200);
    await nodeRed.stopAndRemove();
    assert.deepEqual(
      [...answers].filter((answer) => answer !== 200 && answer !== 'cut'),
      [],
    );
  });
});

function messageId(msg: Record<string, unknown>): unknown {
  return (msg.webhook as Webhook).messageId;
}

function reason(msg: Record<string, unknown>): unknown {
  return (msg.payload as { reason?: string }).reason;
}
