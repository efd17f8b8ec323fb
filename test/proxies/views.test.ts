import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { BalancedInstance, PROXY_KINDS, PROXY_NAME } from '../support/network/proxies';
import { requestTo, ReverseProxy, statusOf } from '../support/network/proxies';
import { Authority } from '../support/network/certificates';
import { needs } from '../support/suite/programs';

const VIEW = '/remote-monitoring/view';
/** What is asked for below it: pages with their keys, and files with dots. */
const PAGES = ['/a', '/Abc_1-z', '/abc.def', '/abc/stream?part=live', '/abc/clip.mp4', '/player.0af3.js'];

for (const kind of PROXY_KINDS)
  describe(`${kind} before the pages of view link, with the configuration of the documentation`, () => {
    let authority: Authority;
    let instance: BalancedInstance;
    let proxy: ReverseProxy;

    before(async function () {
      needs(this, kind, 'openssl');
      authority = new Authority();
      instance = await BalancedInstance.start();
      proxy = await ReverseProxy.start(kind, { upstream: instance.port, authority });
    });

    afterEach(() => Object.assign(instance, { pageStatus: 200 }).pages.splice(0));

    after(async () => {
      await proxy?.stop();
      await instance?.close();
      authority?.remove();
    });

    const ask = (target: string, method = 'GET', plain = false): Promise<string> =>
      proxy.exchange(requestTo(target, '', { method }), { plain });

    it('passes GET and HEAD on, with the path as it was sent', async () => {
      for (const page of PAGES) {
        const answer = await ask(VIEW + page);
        assert.equal(statusOf(answer), 200, page);
        assert.match(answer, /a page/);
        assert.equal(statusOf(await ask(VIEW + page, 'HEAD', true)), 200);
      }
      const asked = PAGES.flatMap((page) => [`GET ${VIEW}${page}`, `HEAD ${VIEW}${page}`]);
      assert.deepEqual(instance.pages, asked);
    });

    it('cuts everything but GET and HEAD, and asks nobody', async () => {
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
        for (const page of PAGES) assert.equal(await ask(VIEW + page, method), '', method);
      assert.deepEqual([instance.pages, instance.posted], [[], []]);
    });

    it('lets nobody climb out of the pages', async () => {
      const settings = ['/../settings', '/./settings', '/a/../../../settings', '/%2e%2e/settings'];
      const below = [...settings, '/..%2fsettings', '/..', '/a..b', '/.hidden', '/a./b'];
      const beside = [`/icons/..${VIEW}/a`, `/icons/%2e%2e${VIEW}/a.js`];
      for (const target of [...below.map((rest) => VIEW + rest), ...beside])
        assert.equal(await ask(target), '', target);
      assert.deepEqual(instance.pages, []);
    });

    it('tells people that an address has ended, and that too many look', async () => {
      for (const status of [403, 404, 410, 500, 503]) {
        instance.pageStatus = status;
        const answer = await ask(`${VIEW}/a`);
        assert.equal(statusOf(answer), status);
        assert.match(answer, /a page/);
      }
    });

    it('brings the first piece of a video before the next one is there', async () => {
      const place = { host: '127.0.0.1', port: proxy.httpPort, headers: { Host: PROXY_NAME } };
      const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
        http.get({ ...place, path: `${VIEW}/abc/stream` }, resolve).on('error', reject);
      });
      const pieces: string[] = [];
      response.setEncoding('utf8').on('data', (piece: string) => pieces.push(piece));
      await once(response, 'data');
      assert.deepEqual(pieces, ['the first piece']);
      instance.endStream();
      await once(response, 'end');
    });
  });
