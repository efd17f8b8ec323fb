import assert from 'node:assert/strict';
import { Authority } from '../support/network/certificates';
import { BALANCER_KINDS, BalancedInstance, PROXY_NAME, programOf } from '../support/network/proxies';
import { requestTo, ReverseProxy, statusOf, type Conduct } from '../support/network/proxies';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';

const PATH = '/remote-monitoring/north';
/** HAProxy lets a connection hang without a word: a sender gives it up. In milliseconds. */
const GIVES_UP = 2000;

const request = (body: string, target = PATH): string => requestTo(target, body);

for (const kind of BALANCER_KINDS)
  describe(`${kind}, with the configuration of the documentation`, () => {
    let authority: Authority;
    let instances: readonly [BalancedInstance, BalancedInstance];
    let balancer: ReverseProxy;

    before(async function () {
      needs(this, programOf(kind), 'openssl');
      authority = new Authority();
      instances = [await BalancedInstance.start(), await BalancedInstance.start()];
      balancer = await ReverseProxy.start(kind, { upstream: instances.map(({ port }) => port), authority });
    });

    beforeEach(async () => {
      conduct(200, 200);
      for (const instance of instances) instance.isReady = true;
      await eventually(async () => {
        forget();
        for (const body of ['a look whether both take part', 'and another']) await post(body);
        return instances.every(({ posted }) => posted.length === 1);
      }, 'both instances');
      forget();
    });

    after(async () => {
      await balancer?.stop();
      for (const instance of instances ?? []) await instance.close();
      authority?.remove();
    });

    const forget = (): void => instances.forEach(({ posted }) => posted.splice(0));
    function conduct(first: Conduct, second: Conduct): void {
      instances[0].conduct = first;
      instances[1].conduct = second;
    }

    /** Status of the answer; NaN = there was none. */
    async function post(body: string, target?: string): Promise<number> {
      return statusOf(await balancer.exchange(request(body, target), { patience: GIVES_UP }));
    }

    const bodies = (): string[][] => instances.map(({ posted }) => posted.map(({ body }) => body.toString()));

    it('ends TLS and gives both instances their share', async () => {
      for (const body of ['a', 'b', 'c', 'd']) assert.equal(await post(body), 200);
      for (const { posted } of instances) assert.equal(posted.length, 2);
    });

    it('passes the signature and every byte of the body on as they are', async () => {
      const body = `\r\n {"name": "Höfe ☂ \\u00e9\\/"}\t\r\n\n`;
      const authorization = 'HMAC-SHA256 AbC+/=';
      const sent = requestTo(PATH, body, { further: [`Authorization: ${authorization}`] });
      for (const plain of [true, false])
        assert.equal(statusOf(await balancer.exchange(sent, { plain })), 200);
      for (const { posted } of instances)
        assert.deepEqual(posted, [{ path: PATH, authorization, body: Buffer.from(body) }]);
    });

    for (const first of ['cuts', 404, 500, 502, 503, 504] as const)
      it(`asks the other instance where one ${first === 'cuts' ? 'cuts' : `answers ${first}`}, and the sender sees one 200`, async () => {
        conduct(first, 200);
        for (const body of ['a', 'b']) assert.equal(await post(body), 200);
        const [asked = [], answered = []] = bodies();
        assert.ok(asked.length > 0);
        assert.deepEqual(answered, ['a', 'b']);
      });

    it('asks the other instance where one has died', async () => {
      const third = await BalancedInstance.start();
      const upstream = [third.port, instances[1].port];
      const beforeDead = await ReverseProxy.start(kind, { upstream, authority });
      try {
        await third.close();
        for (const body of ['a', 'b', 'c', 'd'])
          assert.equal(statusOf(await beforeDead.exchange(request(body), { patience: 9000 })), 200);
        assert.deepEqual(bodies()[1], ['a', 'b', 'c', 'd']);
      } finally {
        await beforeDead.stop();
      }
    });

    it('asks the other instance where one says nothing, as one that is stopped in the middle', async () => {
      conduct('is silent', 200);
      const answers = ['a', 'b'].map((body) => balancer.exchange(request(body)));
      assert.deepEqual((await Promise.all(answers)).map(statusOf), [200, 200]);
      assert.deepEqual(bodies()[1]?.sort(), ['a', 'b']);
    });

    it('passes on that a message is refused, and asks nobody else', async () => {
      for (const status of [401, 405, 413, 415]) {
        conduct(status, status);
        assert.equal(await post(`refused by ${status}`), status);
      }
      assert.equal(bodies().flat().length, 4);
    });

    for (const both of ['cuts', 404, 503] as const)
      it(`gives no answer where each instance ${both === 'cuts' ? 'cuts' : `answers ${both}`}, and takes it back at once`, async () => {
        conduct(both, both);
        assert.equal(await balancer.exchange(request('a'), { patience: GIVES_UP }), '');
        assert.ok(bodies().every((posted) => posted.includes('a')));
        conduct(200, 200);
        assert.equal(await post('b'), 200);
      });

    it('sends 1 MiB to the other instance too, all of it', async () => {
      const body = 'x'.repeat(1024 * 1024);
      conduct('cuts', 200);
      const sent = request(body);
      for (const plain of [true, false])
        assert.equal(statusOf(await balancer.exchange(sent, { plain })), 200);
      assert.deepEqual(bodies()[1], [body, body]);
    });

    it('cuts a sender that takes longer than 10 s for its body, and no instance hears of it', async () => {
      const sent = request('x'.repeat(100)).slice(0, -1);
      assert.equal(await balancer.exchange(sent, { plain: true }), '');
      assert.deepEqual(bodies(), [[], []]);
    });

    it('gives the outside nothing of Node-RED but its webhooks and its pages', async () => {
      const foreign = ['/', '/settings', '/flows', '//settings', '/remote-monitoring/../settings'];
      const views = ['/remote-monitoring/view/../../settings', '/remote-monitoring/view/a'];
      // What stands for the host is the path of a request to who reads it as a browser does.
      const hosts = ['h?', 'h\\flows?', 'h\\flows', '?', 'h#', 'h;', 'h:80?', 'a@h\\flows?', '[::1]\\flows?'];
      const absolute = hosts.map((host) => `http://${host}/remote-monitoring/north`);
      const schemes = ['x://h\\flows?/remote-monitoring/north', 'http:\\\\h\\flows?/remote-monitoring/north'];
      const answers = [...foreign, ...views, ...absolute, ...schemes].map((target) => {
        const host = /^\w+:\/\/([^/]+)/.exec(target)?.[1] ?? PROXY_NAME;
        return balancer.exchange(requestTo(target, 'a', { host }), { plain: true, patience: GIVES_UP });
      });
      for (const given of await Promise.all(answers)) assert.doesNotMatch(given, /^HTTP\/1\.1 200/);
      assert.deepEqual(bodies(), [[], []]);
    });

    describe('before the pages of view link', () => {
      beforeEach(() => {
        for (const instance of instances) Object.assign(instance, { pageStatus: 200 }).pages.splice(0);
      });

      const page = (path: string): Promise<string> =>
        balancer.exchange(requestTo(`/remote-monitoring/view/${path}`, '', { method: 'GET' }));

      it('asks one instance for all pieces of a clip, and each for its share of clips', async () => {
        const clips = Array.from({ length: 20 }, (_, index) => `clip${index}.signature/clip.mp4`);
        for (const clip of [...clips, ...clips]) assert.equal(statusOf(await page(clip)), 200);
        const shares = instances.map(({ pages }) => new Set(pages).size);
        // No clip at both, and neither without one.
        const [first = 0, second = 0] = shares;
        assert.deepEqual([first + second, first > 0, second > 0], [clips.length, true, true]);
      });

      it('asks the other one where the first does not know an address', async () => {
        instances[0].pageStatus = 404;
        for (const each of ['a.b', 'c.d', 'e.f', 'g.h']) assert.equal(statusOf(await page(each)), 200);
        assert.equal(instances[1].pages.length, 4);
      });

      it('tells people that nobody knows an address, or that it has ended', async () => {
        for (const status of [404, 410, 503]) {
          for (const instance of instances) instance.pageStatus = status;
          const answer = await page('a.b');
          assert.equal(statusOf(answer), status);
          assert.match(answer, /a page/);
        }
      });
    });

    // HAProxy alone asks whether an instance is ready; nginx learns it from a cut.
    if (kind !== 'HAProxy before several') return;

    it('asks each instance whether it is ready, and leaves out one that is not', async () => {
      instances[0].isReady = false;
      await eventually(async () => {
        forget();
        for (const body of ['a', 'b']) await post(body);
        return instances[0].posted.length === 0;
      }, 'the first to be left out');
      for (const body of ['c', 'd']) assert.equal(await post(body), 200);
      assert.deepEqual(bodies()[0], []);
      assert.ok(instances.every(({ checks }) => checks > 0));
    });

    it('gives no answer where none is ready, and asks none', async () => {
      for (const instance of instances) instance.isReady = false;
      await eventually(async () => Number.isNaN(await post('a')), 'nobody to be asked');
      forget();
      assert.equal(await balancer.exchange(request('b'), { patience: GIVES_UP }), '');
      assert.deepEqual(bodies(), [[], []]);
    });
  });
