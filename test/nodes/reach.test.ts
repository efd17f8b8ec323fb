import assert from 'node:assert/strict';
import { Authority, type Issued } from '../support/network/certificates';
import { cloud, station } from '../support/node-red/flows';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import {
  entrance,
  freePort,
  inject,
  MOVABLE_CLOCK,
  NodeRed,
  probes,
  watched,
  type FlowNode,
} from '../support/node-red/node-red';
import { whileTimeFlies } from '../support/node-red/node-red-time';
import { needs } from '../support/suite/programs';
import { ScriptedService } from '../support/service/scripted-service';
import { Tinyproxy } from '../support/network/proxies';
import { shows } from '../support/node-red/alarms-through';
import { caller } from '../support/node-red/station-flow';

const NO_LOGIN = { username: '', password: '' };
const LOGIN = { username: 'someone', password: 'Proxy-pass.word_1' };

function tlsNode(properties: Record<string, unknown> = {}): FlowNode {
  const empty = { name: '', cert: '', key: '', ca: '', servername: '', alpnprotocol: '' };
  const usual = { certType: 'files', verifyservercert: true };
  return { id: 'tls', type: 'tls-config', ...usual, ...empty, ...properties };
}

function proxyNode(url = '', properties: Record<string, unknown> = {}): FlowNode {
  const usual = { name: '', url, noproxy: [], credentials: LOGIN };
  return { id: 'proxy', type: 'http proxy', ...usual, ...properties };
}

const list = (id: string, ofStation: string) => caller('rvm-list-devices', { id, station: ofStation });

for (const version of NODE_RED_VERSIONS)
  describe(`a cloud behind TLS and a proxy in Node-RED ${version}`, () => {
    let authority: Authority;
    let client: Issued;
    let files: { ca: string; cert: string; key: string };
    let service: ScriptedService;
    let proxy: Tinyproxy;
    let sequence = 0;
    before(async function () {
      needs(this, 'openssl', 'tinyproxy');
      authority = new Authority();
      client = authority.issueForClient();
      files = {
        ca: authority.file,
        cert: authority.save('client.pem', client.cert),
        key: authority.save('client.key', client.key),
      };
      const ask = { ca: authority.cert, requestCert: true, rejectUnauthorized: true };
      service = await ScriptedService.start({ ...authority.issueForServer(), ...ask });
      proxy = await Tinyproxy.start(`BasicAuth ${LOGIN.username} ${LOGIN.password}`);
    });
    const nodeRed = NodeRed.ofGroup(async () => {
      const address = `http://${LOGIN.username}:${LOGIN.password}@127.0.0.1:${proxy.port}`;
      const nobody = `http://127.0.0.1:${await freePort()}`;
      return { version, settings: MOVABLE_CLOCK, env: { HTTPS_PROXY: address, http_proxy: nobody } };
    });
    after(async () => {
      await proxy?.stop();
      await service?.close();
      authority?.remove();
    });

    /** The nodes in question stand behind all that use them, so that they are built last where the order allows it. */
    async function deploy(properties: Record<string, unknown>, ...further: FlowNode[]): Promise<void> {
      const { username, password } = service;
      await nodeRed.deploy(
        watched(
          ...entrance('in', 'list'),
          list('list', 'station'),
          ...probes('result', 'failed'),
          station({ credentials: { username, password } }),
          cloud({ url: service.url, credentials: { apiKey: service.apiKey }, ...properties }),
          ...further,
        ),
      );
    }

    const BOTH = { tls: 'tls', proxy: 'proxy' };

    async function through(outcome: 'result' | 'failed', entrance = 'in'): Promise<Record<string, unknown>> {
      sequence += 1;
      const mark = sequence;
      await inject(nodeRed, entrance, { mark });
      return nodeRed.message(outcome, (msg) => msg.mark === mark);
    }

    const failure = async () => (await through('failed')).error as { code: string; message: string };

    it('lists the cameras through the proxy, with an own authority and a client certificate from files', async () => {
      await deploy(BOTH, proxyNode(proxy.url), tlsNode(files));
      assert.equal(((await through('result')).payload as unknown[]).length, 2);
      assert.ok(proxy.count(`CONNECT 127.0.0.1:${service.port} `) > 0);
      await shows(nodeRed, 'connected v3', 'list');
    });

    it('takes certificates that are kept with the credentials', async () => {
      const kept = { certdata: client.cert, keydata: client.key, cadata: authority.cert };
      await deploy(BOTH, proxyNode(proxy.url), tlsNode({ credentials: kept }));
      await through('result');
    });

    it('reaches the exceptions of the proxy node directly', async () => {
      const nobody = `http://127.0.0.1:${await freePort()}`;
      const except = proxyNode(nobody, { noproxy: ['other.example', '127.0.0.1'] });
      await deploy(BOTH, except, tlsNode(files));
      await through('result');
      await deploy(BOTH, proxyNode(nobody), tlsNode(files));
      assert.equal((await whileTimeFlies(nodeRed, failure())).code, 'NETWORK');
    });

    it('goes by the proxy variables without a proxy node', async () => {
      const before = proxy.count(`CONNECT 127.0.0.1:${service.port} `);
      await deploy({ tls: 'tls' }, tlsNode(files));
      await through('result');
      assert.ok(proxy.count(`CONNECT 127.0.0.1:${service.port} `) > before);
    });

    it('uses neither for the sandbox, which is in Node-RED itself', async () => {
      const broken = [proxyNode('socks5://nowhere'), tlsNode({ ca: '/nowhere/ca.pem' })];
      const credentials = { apiKey: '' };
      const box = [
        cloud({ id: 'box', url: 'sandbox', sandboxEvents: 0, credentials, ...BOTH }),
        station({ id: 'station-in-box', key: 'other', cloud: 'box', credentials: {} }),
        list('boxed', 'station-in-box'),
        ...entrance('enter', 'boxed'),
      ];
      await deploy({}, ...box, ...broken);
      assert.ok(((await through('result', 'enter')).payload as unknown[]).length > 10);
    });

    it('TLS without the TLS node, and NETWORK without the user of the proxy, each with its cure', async () => {
      await deploy({ proxy: 'proxy' }, proxyNode(proxy.url));
      const untrusted = await failure();
      assert.equal(untrusted.code, 'TLS');
      assert.match(untrusted.message, /TLS node of the cloud/);
      await deploy(BOTH, proxyNode(proxy.url, { credentials: NO_LOGIN }), tlsNode(files));
      const unknown = await failure();
      assert.equal(unknown.code, 'NETWORK');
      assert.match(unknown.message, /asks for a user and a password/);
    });

    it('CONFIG_MISSING for a TLS or proxy node that is gone, disabled or cannot be used, and nothing is sent', async () => {
      const before = service.seen.length;
      const proxied = proxyNode(proxy.url);
      const cases: [FlowNode[], RegExp][] = [
        [[proxied], /TLS node of the cloud is missing/],
        [[proxied, tlsNode({ ...files, d: true })], /TLS node of the cloud is missing/],
        [[proxied, tlsNode({ ca: '/nowhere/ca.pem' })], /files of the TLS node/],
        [[proxied, tlsNode({ ca: files.key })], /CA file holds no certificate/],
        [[tlsNode(files)], /proxy node of the cloud is missing/],
        [[tlsNode(files), proxyNode()], /proxy node is empty/],
        [[tlsNode(files), proxyNode('socks5://x')], /begins with socks5/],
        [[tlsNode(files), proxyNode('${RVM_TEST_UNSET}')], /RVM_TEST_UNSET/],
      ];
      for (const [nodes, reason] of cases) {
        await deploy(BOTH, ...nodes);
        const { code, message } = await failure();
        assert.equal(code, 'CONFIG_MISSING', message);
        assert.match(message, reason);
      }
      await shows(nodeRed, 'status.notConfigured', 'list');
      assert.equal(service.seen.length, before);
    });

    it('warns once where the certificate of the service is not verified', async () => {
      const { cert, key } = files;
      const { username, password } = service;
      const second = station({ id: 'station-2', key: 'second', credentials: { username, password } });
      const open = tlsNode({ cert, key, verifyservercert: false });
      await deploy({ tls: 'tls' }, open, second, list('list-2', 'station-2'));
      for (const id of ['list', 'list-2']) await shows(nodeRed, 'connected v3', id);
      const lines = nodeRed.log.split('\n').filter((line) => line.includes('is not verified'));
      assert.equal(lines.length, 1);
      assert.match(lines[0] ?? '', /\[warn\]/);
    });

    it('tells nobody the password of the proxy', () => {
      assert.equal(nodeRed.log.includes(LOGIN.password), false);
      assert.equal(JSON.stringify(nodeRed.seen).includes(LOGIN.password), false);
    });
  });
