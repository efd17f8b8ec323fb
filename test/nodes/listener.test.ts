import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { MuteServer } from '../support/network/servers';
import { alarmMessage, signature } from '../support/webhook/alarm-message';
import { cloud, listenerNode, PATH, PHRASE, webhookFlow, webhookIn } from '../support/node-red/flows';
import { NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';
import { freePort, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { needs } from '../support/suite/programs';
import { selfSigned } from '../support/network/certificates';
import { eventually } from '../support/time/patience';
import { arrived, type Message } from '../support/node-red/alarms-through';
import { standingTimers, timerStands } from '../support/node-red/node-red-time';

const RETRY_MS = 5000;

function tlsNode(files: { cert: string; key: string }): FlowNode {
  const usual = { name: '', certname: '', keyname: '', caname: '', servername: '', alpnprotocol: '', ca: '' };
  return { id: 'tls', type: 'tls-config', certType: 'files', verifyservercert: false, ...usual, ...files };
}

const listening = (listener: Message, ...further: FlowNode[]): FlowNode[] =>
  webhookFlow({ webhook: { listener: 'listener' } }, listenerNode(listener), ...further);

/** Status, 'cut' without an answer, or 'refused' without a connection. Certificates are not checked. */
async function post(
  url: string,
  message: Message = alarmMessage(),
  { agent = false, phrase = PHRASE }: { agent?: https.Agent | false; phrase?: string } = {},
): Promise<number | string> {
  const body = JSON.stringify(message);
  const send = url.startsWith('https:') ? https.request : http.request;
  const headers = { Authorization: signature(body, phrase) };
  const request = send(url, { method: 'POST', headers, agent, rejectUnauthorized: false });
  request.on('error', () => undefined).end(body);
  try {
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    await once(response.resume(), 'end');
    return response.statusCode ?? 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'refused' : 'cut';
  }
}

for (const version of NODE_RED_VERSIONS)
  describe(`a listener of its own on Node-RED ${version}`, () => {
    const settings = `httpNodeRoot: '/api', httpNodeAuth: { user: 'u', pass: 'x' },
      httpNodeMiddleware: (req, res) => res.status(403).end(), ${standingTimers(RETRY_MS)}`;
    const nodeRed = NodeRed.ofGroup({ version, settings, env: { RVM_TEST_HOST: '127.0.0.1' } });
    let port: number;
    let origin: string;
    let url: string;
    before(async () => {
      port = await freePort();
      origin = `http://127.0.0.1:${port}`;
      url = origin + PATH;
    });

    const status = (id = 'webhook'): string => nodeRed.statuses(id).at(-1) ?? '';

    const shows = (text: string, id = 'webhook'): Promise<void> =>
      nodeRed.until(() => status(id) === text, `${text} as the status`);

    const delivered = (message: Message, at = 'alarms'): Promise<Message> => arrived(nodeRed, message, at);

    it('serves two webhook in nodes, and neither the root, the auth nor the middleware of Node-RED apply', async () => {
      const wires = [['other'], [], []];
      const second = webhookIn({ id: 'second', listener: 'listener', path: '/flows', wires });
      await nodeRed.deploy(listening({ port, host: '${RVM_TEST_HOST}' }, second, probe('other')));
      const [one, other] = [alarmMessage(), alarmMessage()];
      await answers(() => post(url, one));
      assert.equal(await post(`${origin}/flows`, other), 200);
      await delivered(one);
      await delivered(other, 'other');
      await nodeRed.logged(new RegExp(`from this machine: ${origin}`));
    });

    it('answers as Node-RED’s own server does, and 404 on any other path', async () => {
      assert.equal(await post(url, alarmMessage(), { phrase: 'another' }), 401);
      const get = await fetch(url);
      assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST']);
      const headers = { 'Content-Encoding': 'gzip' };
      assert.equal((await fetch(url, { method: 'POST', body: 'x', headers })).status, 415);
      assert.equal(await post(url, { filler: 'x'.repeat(1024 * 1024) }), 413);
      for (const other of ['/', '/settings', `/api${PATH}`, '/comms'])
        assert.equal((await fetch(origin + other)).status, 404, other);
      assert.equal((await fetch(nodeRed.url + PATH)).status, 404);
    });

    it('C-133 answers 200 or cuts, and refuses nothing, while flows are deployed', async () => {
      const sent: Message[] = [];
      const got = new Set<number | string>();
      const over = new AbortController();
      const sending = (async () => {
        while (!over.signal.aborted) {
          const message = alarmMessage();
          sent.push(message);
          got.add(await post(url, message));
        }
      })();
      for (let time = 0; time < 3; time++) await nodeRed.deploy(listening({ port, name: `${time}` }));
      over.abort();
      await sending;
      got.delete('cut');
      assert.deepEqual([...got], [200]);
      // As the service does: a cut connection is tried again.
      for (const message of sent) await answers(() => post(url, message));
      for (const message of sent) await delivered(message);
    });

    it('moves to another port by a deploy of changes only, and frees the first', async () => {
      const other = await freePort();
      await nodeRed.deploy(listening({ port }));
      await nodeRed.deploy(listening({ port: `${other}` }), 'nodes');
      await answers(() => post(`http://127.0.0.1:${other}${PATH}`));
      await answers(() => post(url), 'refused');
    });

    it('frees its port when a deploy takes its last webhook in away', async () => {
      await nodeRed.deploy(listening({ port }));
      await answers(() => post(url));
      await nodeRed.deploy(webhookFlow({}, listenerNode({ port })));
      await answers(() => post(url), 'refused');
      await (await MuteServer.start(port)).close();
    });

    it('shows "port in use" while another program has it, says so once, and takes it when it is free', async () => {
      const other = await MuteServer.start(port);
      const before = nodeRed.log.length;
      await nodeRed.deploy(listening({ port }));
      await shows('status.portInUse');
      const line = new RegExp(`Port ${port} of the listener is in use`, 'g');
      await timerStands(nodeRed, RETRY_MS, before);
      await other.close();
      await nodeRed.advance(RETRY_MS / 1000);
      await nodeRed.until(() => status() !== 'status.portInUse', 'the end of it');
      assert.equal(await post(url), 200);
      assert.equal(nodeRed.log.slice(before).match(line)?.length, 1);
    });

    it('turns red beside another listener with its port, and its alarms are received all the same', async () => {
      const twin = listenerNode({ port, id: 'twin' });
      const second = webhookIn({ id: 'second', listener: 'twin', path: '/second' });
      await nodeRed.deploy(listening({ port }, twin, second));
      await shows('status.portInUse', 'second');
      await nodeRed.logged(/Another listener node has the same port/);
      await answers(() => post(`${origin}/second`));
      assert.equal(await post(url), 200);
    });

    const tls = { port: 1, tls: 'tls' };
    for (const [what, properties, line, { shown = 'status.wrongSetting', key } = {}] of [
      ['a port that is none', { port: '80000' }, /Enter a port/],
      ['no port', {}, /Enter a port/],
      ['a host that is not of this machine', { port: 1, host: '203.0.113.7' }, /no address "203.0.113.7"/],
      ['a proxy that is none', { port: 1, proxies: '10.0.0.5, x' }, /"x" is no address/],
      [
        'a variable that is not set',
        { port: '${RVM_NO_PORT}' },
        /RVM_NO_PORT is not set/,
        { shown: 'RVM_NO_PORT is not set' },
      ],
      ['a TLS node that is gone', { port: 1, tls: 'gone' }, /no certificate with a private key/],
      ['a certificate without a key', tls, /no certificate with a private key/, { key: '' }],
      ['a certificate that is none', tls, /cannot be used \(ERR_/, { key: __filename }],
    ] as [string, Message, RegExp, { shown?: string; key?: string }?][])
      it(`says what is wrong with ${what}, on the webhook in too`, async () => {
        const further = key === undefined ? [] : [tlsNode({ cert: __filename, key })];
        const before = nodeRed.log.length;
        await nodeRed.deploy(listening(properties, ...further));
        await shows(shown);
        await nodeRed.logged(line, before);
      });

    it('that is disabled leaves its webhook in without any server, and that says so', async () => {
      await nodeRed.deploy(listening({ port, d: true }));
      await shows('status.notConfigured');
      await nodeRed.logged(/listener of this node is missing/);
      await answers(() => post(url), 'refused');
    });

    describe('with TLS', () => {
      let files: { cert: string; key: string };

      before(function () {
        needs(this, 'openssl');
        const inUserDir = (name: string): string => path.join(nodeRed.userDir, name);
        files = { cert: inUserDir('cert.pem'), key: inUserDir('key.pem') };
        url = `https://127.0.0.1:${port}${PATH}`;
      });

      async function deployWith({ cert, key }: { cert: string; key: string }): Promise<void> {
        fs.writeFileSync(files.cert, cert);
        fs.writeFileSync(files.key, key);
        await nodeRed.deploy(listening({ port, tls: 'tls' }, tlsNode(files)));
      }

      it('takes over a renewed certificate by a deploy, and closes no connection', async () => {
        // Both before the connection is there, which ends by itself where it is idle for long.
        const [first, second] = [selfSigned('first'), selfSigned('second')];
        await deployWith(first);
        const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
        await answers(() => post(url, alarmMessage(), { agent }));
        const [kept] = Object.values(agent.freeSockets).flat();
        await deployWith(second);
        await answers(() => certificateAt(url), 'second');
        assert.equal(await post(url, alarmMessage(), { agent }), 200);
        assert.equal(kept?.destroyed, false);
        agent.destroy();
      });

      it('is reached by the sandbox, though nobody else has signed its certificate', async () => {
        const flows = listening({ port, tls: 'tls' }, tlsNode(files)).map((node) => {
          if (node.id === 'cloud') return cloud({ url: 'sandbox', sandboxEvents: 600, credentials: {} });
          return node.id === 'station' ? { ...node, scheme: 'https', credentials: {} } : node;
        });
        await nodeRed.deploy(flows);
        await nodeRed.message('alarms', (msg) => (msg.webhook as Message).sandbox === true);
      });
    });
  });

slowIt(
  'a listener of its own takes alarms where Node-RED itself serves no paths, and never answers 404 while it starts',
  async () => {
    const settings = 'httpNodeRoot: false,';
    const port = await freePort();
    const url = `http://127.0.0.1:${port}${PATH}`;
    const nodeRed = await NodeRed.start({ settings });
    await nodeRed.deploy(listening({ port }));
    await answers(() => post(url));
    await nodeRed.stop();

    const got = new Set<number | string>();
    const started = new AbortController();
    const knocking = (async () => {
      while (!started.signal.aborted) {
        got.add(await post(url));
        await delay(2);
      }
    })();
    await nodeRed.restart();
    try {
      await answers(() => post(url));
    } finally {
      started.abort();
      await knocking;
      await nodeRed.stopAndRemove();
    }
    assert.ok(got.delete('refused') && got.delete(200));
    got.delete('cut');
    assert.deepEqual([...got], []);
  },
);

/** Asks again until the answer is as wanted: ports are opened and closed a moment after a deploy. */
async function answers(ask: () => Promise<number | string>, wanted: number | string = 200): Promise<void> {
  await eventually(async () => (await ask()) === wanted, `the answer ${wanted}`);
}

async function certificateAt(url: string): Promise<string> {
  const request = https.request(url, { rejectUnauthorized: false, agent: false });
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.resume();
  return String((response.socket as TLSSocket).getPeerCertificate().subject.CN);
}
