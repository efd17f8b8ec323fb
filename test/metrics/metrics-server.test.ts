import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import type { RvmError } from '../../lib/error';
import { readMetricsAddress, type MetricsAddress, MetricsServer } from '../../lib/metrics/metrics-server';
import { fullMetrics, readScrape } from '../support/metrics/metrics';
import { eventually } from '../support/time/patience';

const LOOPBACK: MetricsAddress = { port: 0, host: '127.0.0.1' };

describe('the metrics server', () => {
  const open: MetricsServer[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((server) => server.close()));
  });

  type Texts = Pick<ReturnType<typeof fullMetrics>, 'text' | 'contentType'>;

  function start(address = LOOPBACK, metrics: Texts = fullMetrics()) {
    const faults: RvmError[] = [];
    const onListening = (): void => undefined;
    const onFault = (fault: RvmError): void => void faults.push(fault);
    const server = new MetricsServer({ address, metrics, onListening, onFault, againAfter: 20 });
    open.push(server);
    server.open();
    return { server, faults };
  }

  async function listening(place?: MetricsAddress, metrics?: Texts) {
    const { server } = start(place, metrics);
    await eventually(() => server.url !== undefined, 'the server');
    const url = server.url ?? assert.fail();
    return { server, url, port: Number(new URL(url).port) };
  }

  const urlOf = async (metrics?: Texts): Promise<string> => (await listening(LOOPBACK, metrics)).url;

  it('answers GET with the metrics, which nobody may keep, and HEAD without them', async () => {
    const url = await urlOf();
    const response = await fetch(url);
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.ok(readScrape(await response.text()).samples.length > 50);
    const head = await fetch(url, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
  });

  it('answers 404 to every other path, and takes a query', async () => {
    const url = await urlOf();
    for (const path of ['/', '/metrics/', '/metricsx', '/flows', '//metrics'])
      assert.equal((await fetch(new URL(url).origin + path)).status, 404, path);
    assert.equal((await fetch(`${url}?name[]=up`)).status, 200);
  });

  it('answers 405 to every other method, and says which it takes', async () => {
    const url = await urlOf();
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const response = await fetch(url, { method, ...(method === 'POST' && { body: 'x'.repeat(100_000) }) });
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD'], method);
    }
  });

  it('tells nobody why the metrics could not be read', async () => {
    const text = (): Promise<string> => Promise.reject(new Error('the phrase is: correct horse'));
    const response = await fetch(await urlOf({ contentType: 'text/plain', text }));
    assert.deepEqual([response.status, await response.text()], [500, 'The metrics could not be read.\n']);
  });

  describe('with forty connections that wait', () => {
    const sockets: net.Socket[] = [];
    afterEach(() => {
      for (const socket of sockets.splice(0)) socket.destroy();
    });

    async function connect(url: string, sent: string): Promise<net.Socket> {
      const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      if (sent !== '') socket.write(sent);
      return socket;
    }

    const scraped = async (url: string): Promise<number> =>
      (await fetch(url, { headers: { Connection: 'close' } })).status;
    const areOpen = (): number => sockets.filter(({ closed }) => !closed).length;

    for (const [what, sent] of [
      ['say nothing', ''],
      ['send half a request', 'GET /metrics HTTP/1.1\r\nHost: a\r\n'],
      ['read no answer', 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(50)],
    ] as const)
      it(`answers though they ${what}: of more than twenty the oldest ends`, async () => {
        const url = await urlOf();
        for (let count = 0; count < 40; count += 1) (await connect(url, sent)).pause();
        assert.equal(await scraped(url), 200);
        // One that is paused does not hear of its end.
        for (const socket of sockets) socket.resume();
        await eventually(() => areOpen() <= 20, 'the end of the others');
        assert.ok(sockets[0]?.closed);
      });

    it('ends none that waits for its answer, and turns others away where there is no other', async () => {
      const { promise, resolve: release } = Promise.withResolvers<string>();
      let asked = 0;
      const text = (): Promise<string> => {
        asked += 1;
        return promise;
      };
      const url = await urlOf({ contentType: 'text/plain', text });
      const first = scraped(url);
      await eventually(() => asked === 1, 'the first scrape');
      for (let count = 0; count < 40; count += 1) await connect(url, '');
      const others = Array.from({ length: 19 }, () => scraped(url));
      await eventually(() => asked === 20, 'all scrapes');
      await assert.rejects(scraped(url));
      release('up 1\n');
      assert.deepEqual(await Promise.all([first, ...others]), Array(20).fill(200));
      assert.equal(await scraped(url), 200);
    });
  });

  it('says once that its port is taken, and has it when it is free', async () => {
    const { server: first, port } = await listening();
    const second = start({ ...LOOPBACK, port });
    await eventually(() => second.faults.length > 0, 'the fault');
    assert.equal(second.faults[0]?.code, 'NETWORK');
    assert.match(second.faults[0].message, new RegExp(`port ${port} of 127.0.0.1 is in use`));
    await first.close();
    await eventually(() => second.server.url !== undefined, 'the second');
    assert.equal(second.faults.length, 1);
  });

  it('says that an address is none of this machine', async () => {
    const { faults } = start({ port: 0, host: '192.0.2.1' });
    await eventually(() => faults.length > 0, 'the fault');
    assert.equal(faults[0]?.code, 'BAD_INPUT');
    const sentence = /"192\.0\.2\.1" cannot be opened .* enter an address of this machine as host/;
    assert.match(faults[0].message, sentence);
  });

  it('frees its port at once, though a connection is open', async () => {
    const { server, port } = await listening();
    const socket = net.connect(port, '127.0.0.1');
    await once(socket, 'connect');
    await Promise.all([once(socket, 'close'), server.close()]);
  });
});

describe('rvmMetrics of settings.js', () => {
  it('serves nothing where it is absent or false', () => {
    for (const setting of [undefined, null, false]) assert.equal(readMetricsAddress(setting), undefined);
  });

  it('is loopback and 9464 where it says nothing else, and takes a port from the environment, which is text', () => {
    const place = { port: 9464, host: '127.0.0.1' };
    for (const [settings, changes] of [
      [{}, {}],
      [{ port: 9000 }, { port: 9000 }],
      [{ port: '9000' }, { port: 9000 }],
      [{ host: '::1' }, { host: '::1' }],
    ])
      assert.deepEqual(readMetricsAddress(settings), { ...place, ...changes });
  });

  const noPorts = [-1, 65_536, 1.5, 'nine', '', null, NaN].map((port) => ({ port }));
  const noHosts = ['', ' ', 5, null, true].map((host) => ({ host }));
  for (const [what, settings, sentence] of [
    ['is no object', [true, 9464, '9464', []], /is no object: write it as in rvmMetrics: \{ port/],
    ['has no port', noPorts, /a port that is no whole number/],
    ['has no host', noHosts, /a host that is no name or address/],
    ['has what is not known', [{ hots: '0.0.0.0' }], /has "hots", which is not known/],
  ] as const)
    it(`is refused where it ${what}`, () => {
      for (const setting of settings) assert.throws(() => readMetricsAddress(setting), sentence);
    });
});
