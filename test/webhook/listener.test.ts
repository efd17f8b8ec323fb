import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import type { Endpoint } from '../../lib/webhook/endpoint';
import type { Dispatcher } from '../../lib/webhook/dispatcher';
import { Listener, Listeners, listenFault } from '../../lib/webhook/listener';
import type { ListenerClaim, ListenerOptions, ListenerSettings } from '../../lib/webhook/listener';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { ChangeListeners } from '../../lib/concurrency/signals';
import { freePort } from '../support/node-red/node-red';
import { needs } from '../support/suite/programs';
import { type Issued, selfSigned } from '../support/network/certificates';
import { eventually, PATIENCE } from '../support/time/patience';
import { endpointOf, exchange, PATH, requestText, signedText, statusesIn } from './receiver-under-test';
import { signed, station } from './sample';

const HOST = '127.0.0.1';
const PLAIN = { proxies: [] };

/** Lets a dispatcher answer on the path of the tests. */
function addWebhook(dispatcher: Dispatcher, changes: Partial<Endpoint> = {}): () => void {
  const endpoint = endpointOf(changes);
  assert.ok(dispatcher.add(endpoint));
  return () => dispatcher.remove(endpoint);
}

/** Posts an alarm; 'cut' where the connection ends without an answer, 'refused' where there is none. */
function post(origin: string, agent: http.Agent | false = false): Promise<number | string> {
  const { body, headers } = signed();
  const send = origin.startsWith('https:') ? https.request : http.request;
  const request = send(origin + PATH, { method: 'POST', headers, agent, rejectUnauthorized: false });
  return new Promise((resolve) => {
    request.on('response', (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    request.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'ECONNREFUSED' ? 'refused' : 'cut'),
    );
    request.end(body);
  });
}

describe('a listener', () => {
  let port: number;
  let origin: string;
  let listener: Listener;

  beforeEach(async () => {
    port = await freePort();
    origin = `http://${HOST}:${port}`;
  });
  afterEach(() => listener.close());

  function prepare(options: ListenerOptions = {}, host = HOST): void {
    listener = new Listener({ port, host }, options);
    addWebhook(listener.dispatcher);
  }

  async function listening(tls?: ListenerSettings['tls']): Promise<void> {
    prepare();
    await listener.listen({ ...PLAIN, tls });
  }

  for (const [where, host] of [
    ['listens', HOST],
    ['listens on all addresses, reached at 127.0.0.1,', ''],
  ] as const)
    it(`${where} from the moment it is told to, until it is closed`, async () => {
      prepare({}, host);
      assert.deepEqual([listener.origin, await post(origin)], [undefined, 'refused']);
      await listener.listen(PLAIN);
      assert.deepEqual([listener.origin, listener.fault, await post(origin)], [origin, undefined, 200]);
      await listener.close();
      assert.deepEqual([listener.origin, await post(origin)], [undefined, 'refused']);
    });

  it('deals with what is under way when it is closed, and closes its idle connections', async () => {
    let stations: ReceivingStation[] | undefined;
    listener = new Listener({ port, host: HOST }, { dispatcher: { holdMs: PATIENCE } });
    const changes = new ChangeListeners();
    const watch = (changed: () => void): (() => void) => changes.add(changed);
    addWebhook(listener.dispatcher, { stations: () => (stations ??= []), watch });
    await listener.listen(PLAIN);
    const idle = net.connect(port, HOST);
    await once(idle, 'connect');
    const agent = new http.Agent({ keepAlive: true });
    const held = post(origin, agent);
    await eventually(() => stations !== undefined, 'the request');
    await listener.close();
    await once(idle.resume(), 'close');
    assert.equal(await post(origin), 'refused');
    stations = [station()];
    changes.notify();
    assert.equal(await held, 200);
    await eventually(() => Object.keys(agent.freeSockets).length === 0, 'the end of the connection');
  });

  it('tries no longer for a taken port once it is closed', async () => {
    const other = net.createServer().listen(port, HOST);
    await once(other, 'listening');
    prepare({ retryMs: 10 });
    await listener.listen(PLAIN);
    await listener.close();
    let told = 0;
    listener.watch(() => (told += 1));
    other.close();
    await new Promise((resolve) => setTimeout(resolve, 60));
    assert.deepEqual([told, await post(origin)], [0, 'refused']);
  });

  for (const [code, message] of [
    ['EADDRNOTAVAIL', /no address "203\.0\.113\.7".*leave the host empty/],
    ['EACCES', /may not open port 443: choose one from 1024 on/],
  ] as const)
    it(`says what to do about ${code}`, () => {
      const fault = listenFault(Object.assign(new Error(), { code }), { port: 443, host: '203.0.113.7' });
      assert.equal(fault.code, 'BAD_INPUT');
      assert.match(fault.message, message);
    });

  it('refuses proxies that are no addresses, and goes on with its settings', async () => {
    await listening();
    await listener.listen({ proxies: ['proxy.example'] });
    assert.deepEqual([listener.fault?.code, await post(origin)], ['BAD_INPUT', 200]);
    await listener.listen(PLAIN);
    assert.equal(listener.fault, undefined);
  });

  describe('with TLS', () => {
    let first: Issued;
    let second: Issued;

    before(function () {
      needs(this, 'openssl');
      first = selfSigned('first');
      second = selfSigned('second');
    });
    beforeEach(() => {
      origin = `https://${HOST}:${port}`;
    });

    const place = (): tls.ConnectionOptions => ({ port, host: HOST, rejectUnauthorized: false });

    it('takes alarms of a client that offers HTTP/1.0 alone', async () => {
      await listening(first);
      const socket = tls.connect({ ...place(), ALPNProtocols: ['http/1.0'] });
      const text = signedText().replace('HTTP/1.1', 'HTTP/1.0');
      assert.deepEqual(statusesIn(await exchange(socket, [text])), [200]);
    });

    it('cuts a connection on which many forged requests come at once', async () => {
      await listening(first);
      const text = await exchange(tls.connect(place()), [requestText('').repeat(200)]);
      assert.ok(statusesIn(text).length < 16);
      assert.equal(await post(origin), 200);
    });

    const unusable: [string, () => tls.SecureContextOptions, string, RegExp][] = [
      ['without a key', () => ({ cert: first.cert }), 'CONFIG_MISSING', /no certificate with a private key/],
      ['with nothing at all', () => ({}), 'CONFIG_MISSING', /no certificate with a private key/],
      ['that is no PEM', () => ({ cert: 'x', key: first.key }), 'BAD_INPUT', /cannot be used \(ERR_/],
      ['of another key', () => ({ cert: first.cert, key: second.key }), 'BAD_INPUT', /belong together/],
    ];
    for (const [what, settings, code, message] of unusable)
      it(`does not listen with a certificate ${what}, and goes on with the one it had`, async () => {
        await listening(settings());
        assert.equal(listener.fault?.code, code);
        assert.match(listener.fault.message, message);
        assert.doesNotMatch(listener.fault.message, /BEGIN|KEY-----/);
        assert.equal(await post(origin), 'refused');
        await listener.listen({ ...PLAIN, tls: first });
        await listener.listen({ ...PLAIN, tls: settings() });
        assert.deepEqual([listener.fault?.code, await post(origin)], [code, 200]);
      });

    it('changes between http and https on its port', async () => {
      await listening();
      await listener.listen({ ...PLAIN, tls: first });
      assert.deepEqual([listener.origin, await post(origin)], [origin, 200]);
      await listener.listen(PLAIN);
      assert.equal(await post(`http://${HOST}:${port}`), 200);
    });
  });
});

describe('the listeners of a process', () => {
  let port: number;
  let origin: string;
  let listeners: Listeners;
  const opened: Listener[] = [];

  beforeEach(async () => {
    port = await freePort();
    origin = `http://${HOST}:${port}`;
    listeners = new Listeners({ stoppedMs: 500, dispatcher: { holdMs: 100 } });
  });
  afterEach(async () => {
    for (const listener of opened.splice(0)) await listener.close();
  });

  function claim(host = HOST, settings: ListenerSettings = PLAIN): ListenerClaim {
    const made = listeners.claim({ port, host }, settings);
    opened.push(made.listener);
    return made;
  }

  /** A place whose path is configured, and open; `remove` takes the path away. */
  async function claimOpen(changes: Partial<Endpoint> = {}, host?: string) {
    const made = claim(host);
    const remove = addWebhook(made.listener.dispatcher, changes);
    await listeners.flowsStarted();
    return { ...made, remove };
  }

  it('open a port when the flows have started, and only where a path is configured', async () => {
    const { listener } = claim();
    assert.equal(await post(origin), 'refused');
    await listeners.flowsStarted();
    assert.equal(await post(origin), 'refused');
    addWebhook(listener.dispatcher);
    await listeners.flowsStarted();
    assert.equal(await post(origin), 200);
  });

  it('open a port for pages alone, as long as somebody wants them there', async () => {
    const { listener } = claim();
    const unwant = listener.pages.want();
    await listeners.flowsStarted();
    assert.equal(await post(origin), 404);
    unwant();
    await listeners.flowsStarted();
    assert.equal(await post(origin), 'refused');
  });

  for (const [title, isClaimed, answer] of [
    ['cut at once what is held on a port that nobody claims any more', false, 'cut'],
    ['hold on a port whose paths are gone, for they may come back', true, 200],
  ] as const)
    it(title, async () => {
      listeners = new Listeners({ dispatcher: { holdMs: 600_000 } });
      let stations: ReceivingStation[] | undefined;
      const claimed = await claimOpen({ stations: () => (stations ??= []) });
      const held = post(origin);
      await eventually(() => stations !== undefined, 'the request');
      if (isClaimed) claimed.remove();
      else claimed.release();
      await listeners.flowsStarted();
      if (isClaimed) addWebhook(claimed.listener.dispatcher);
      assert.equal(await held, answer);
    });

  it('give a port from one host to another', async () => {
    const everywhere = await claimOpen({}, '');
    everywhere.release();
    const here = await claimOpen();
    assert.deepEqual([here.listener.fault, await post(origin)], [undefined, 200]);
  });

  it('share a place that is claimed twice, and go by the settings of the first', async () => {
    const first = claim();
    const second = claim(HOST, { proxies: ['no address'] });
    assert.equal(first.listener, second.listener);
    addWebhook(second.listener.dispatcher);
    await listeners.flowsStarted();
    assert.deepEqual([first.isFirst(), second.isFirst(), await post(origin)], [true, false, 200]);
    first.release();
    await listeners.flowsStarted();
    assert.deepEqual([second.isFirst(), second.listener.fault?.code], [true, 'BAD_INPUT']);
  });

  it('close where the flows do not start again: refused is better than 404', async () => {
    const { listener } = await claimOpen();
    listeners.flowsStopping();
    await eventually(() => listener.origin === undefined, 'the end of listening');
    assert.equal(await post(origin), 'refused');
    await listeners.flowsStarted();
    assert.equal(await post(origin), 200);
  });
});
