import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { PROXY_KINDS, PROXY_NAME, ReverseProxy } from '../support/network/proxies';
import { Authority } from '../support/network/certificates';
import { needs } from '../support/suite/programs';

const VIEW = '/remote-monitoring/view';
/** What is asked for below it: pages with their keys, and files with dots. */
const PAGES = ['/a', '/Abc_1-z', '/abc.def', '/abc/stream?part=live', '/abc/clip.mp4', '/player.0af3.js'];

/** Stands where Node-RED would: answers with the status that the path names, and with a stream where it asks for one. */
class Pages {
  readonly asked: string[] = [];
  readonly #server = http.createServer((req, res) => this.#answer(req, res));
  /** Ends the stream that is open. */
  end: () => void = () => undefined;

  static async start(): Promise<Pages> {
    const pages = new Pages();
    pages.#server.listen(0, '127.0.0.1');
    await once(pages.#server, 'listening');
    return pages;
  }

  get port(): number {
    const address = this.#server.address();
    assert.ok(typeof address === 'object' && address !== null);
    return address.port;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #answer(req: http.IncomingMessage, res: http.ServerResponse): void {
    this.asked.push(`${req.method} ${req.url}`);
    const [, status = '200'] = /\/status-(\d+)$/.exec(req.url ?? '') ?? [];
    res.writeHead(Number(status), { 'Content-Type': 'text/plain' });
    if (req.url?.endsWith('/stream') === true) {
      res.write('the first piece');
      this.end = () => res.end();
    } else res.end('a page');
  }
}

function request(target: string, method = 'GET'): string {
  const lines = [`${method} ${target} HTTP/1.1`, `Host: ${PROXY_NAME}`, 'Connection: close'];
  return [...lines, 'Content-Length: 0', '', ''].join('\r\n');
}

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
}

for (const kind of PROXY_KINDS) {
  describe(`${kind} before the pages of view link, with the configuration of the documentation`, () => {
    let authority: Authority;
    let pages: Pages;
    let proxy: ReverseProxy;

    before(async function () {
      needs(this, kind, 'openssl');
      authority = new Authority();
      pages = await Pages.start();
      proxy = await ReverseProxy.start(kind, { upstream: pages.port, authority });
    });

    afterEach(() => pages.asked.splice(0));

    after(async () => {
      await proxy?.stop();
      await pages?.stop();
      authority?.remove();
    });

    it('passes GET and HEAD on, with the path as it was sent', async () => {
      for (const page of PAGES) {
        const answer = await proxy.exchange(request(VIEW + page));
        assert.equal(statusOf(answer), 200, page);
        assert.match(answer, /a page/);
        assert.equal(statusOf(await proxy.exchange(request(VIEW + page, 'HEAD'), { plain: true })), 200);
      }
      assert.deepEqual(
        pages.asked,
        PAGES.flatMap((page) => [`GET ${VIEW}${page}`, `HEAD ${VIEW}${page}`]),
      );
    });

    it('cuts everything but GET and HEAD, and asks nobody', async () => {
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
        for (const page of PAGES)
          assert.equal(await proxy.exchange(request(VIEW + page, method)), '', method);
      assert.deepEqual(pages.asked, []);
    });

    it('lets nobody climb out of the pages', async () => {
      const climbing = [
        '/../settings',
        '/..',
        '/./settings',
        '/a/../../../settings',
        '/a..b',
        '/.hidden',
        '/a./b',
        '/%2e%2e/settings',
        '/..%2fsettings',
      ].map((rest) => VIEW + rest);
      for (const target of [...climbing, `/icons/..${VIEW}/a`, `/icons/%2e%2e${VIEW}/a.js`])
        assert.equal(await proxy.exchange(request(target)), '', target);
      assert.deepEqual(pages.asked, []);
    });

    it('tells people that an address has ended, and that too many look', async () => {
      for (const status of [403, 404, 410, 500, 503]) {
        const answer = await proxy.exchange(request(`${VIEW}/status-${status}`));
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
      pages.end();
      await once(response, 'end');
    });
  });
}
