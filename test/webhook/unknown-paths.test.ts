import assert from 'node:assert/strict';
import { UnknownPaths, type UnknownPath } from '../../lib/webhook/unknown-paths';
import { SERVERS, ReceiverUnderTest } from './receiver-under-test';

const MINUTE = 60_000;

describe('what is posted to paths that nobody has', () => {
  let told: UnknownPath[];
  let time: number;
  let unknown: UnknownPaths;
  beforeEach(() => {
    told = [];
    time = 0;
    unknown = new UnknownPaths({
      onFirst: (path) => told.push(path),
      now: () => Date.UTC(2026, 0, 1) + time,
      monotonic: () => time,
    });
  });
  const post = (path: string, port = 1880, remoteAddress = '192.0.2.7'): void =>
    unknown.posted({ path, port, remoteAddress });

  const paths = (): string[] => unknown.all().map(({ path }) => path);
  const toldPaths = (): string[] => told.map(({ path }) => path);

  it('is told once for each path, and listed with its count, the newest first', () => {
    for (const path of ['/remote-monitoring/a', '/remote-monitoring/a', '/remote-monitoring/b']) {
      time += 1;
      post(path);
    }
    assert.deepEqual(toldPaths(), ['/remote-monitoring/a', '/remote-monitoring/b']);
    assert.deepEqual(paths(), ['/remote-monitoring/b', '/remote-monitoring/a']);
    const usual = { port: 1880, lastAddress: '192.0.2.7' };
    assert.partialDeepStrictEqual(unknown.all(), [
      { path: '/remote-monitoring/b', count: 1, ...usual },
      { path: '/remote-monitoring/a', count: 2, ...usual },
    ]);
  });

  it('keeps ports apart', () => {
    for (const port of [1880, 8443]) post('/remote-monitoring/a', port);
    assert.equal(told.length, 2);
  });

  it('is cut and escaped: a stranger writes neither the log nor the screen', () => {
    post(`/remote-monitoring/<b>\u0000\n"é$t(key)__path__${'x'.repeat(5000)}`);
    const [{ path } = assert.fail()] = unknown.all();
    assert.match(path, /^\/remote-monitoring\/%3Cb%3E%00%0A%22%C3%A9%24t\(key\)%5F%5Fpath%5F%5Fx+…$/);
    assert.ok(path.length <= 121);
  });

  it('is bounded in number against scanners, who drive out nothing that comes again and again', () => {
    for (let i = 0; i < 5; i += 1) post('/remote-monitoring/of-the-service');
    for (let i = 0; i < 1000; i += 1) {
      time += 1;
      post(`/remote-monitoring/${i}`);
    }
    assert.equal(paths().length, 20);
    assert.ok(paths().includes('/remote-monitoring/of-the-service'));
    assert.ok(paths().includes('/remote-monitoring/999'));
  });

  it('is shared among the senders: one who posts again and again to many paths drives out his own alone', () => {
    post('/remote-monitoring/of-the-service');
    for (let i = 0; i < 100; i += 1)
      for (let again = 0; again < 5; again += 1) post(`/remote-monitoring/${i}`, 1880, '203.0.113.1');
    assert.equal(paths().length, 20);
    assert.ok(paths().includes('/remote-monitoring/of-the-service'));
  });

  it('is shared so that a sender of a few paths keeps them, however many others there are', () => {
    for (let again = 0; again < 5; again += 1)
      for (const path of ['one', 'two']) post(`/remote-monitoring/${path}`);
    for (let i = 0; i < 100; i += 1) post(`/remote-monitoring/${i}`, 1880, `203.0.113.${i}`);
    assert.ok(paths().includes('/remote-monitoring/one') && paths().includes('/remote-monitoring/two'));
  });

  it('is ten lines of the log at once and one in ten minutes from then on', () => {
    for (let i = 0; i < 50; i += 1) post(`/remote-monitoring/${i}`);
    assert.equal(told.length, 10);
    time += 9 * MINUTE;
    post('/remote-monitoring/later');
    assert.equal(told.length, 10);
    time += 2 * MINUTE;
    post('/remote-monitoring/later');
    assert.deepEqual(toldPaths().slice(10), ['/remote-monitoring/later']);
  });

  it('is forgotten when an endpoint has the path, and a day after the last post', () => {
    post('/remote-monitoring/a');
    post('/remote-monitoring/b');
    unknown.taken('/remote-monitoring/a/');
    assert.deepEqual(paths(), ['/remote-monitoring/b']);
    time += 25 * 60 * MINUTE;
    assert.deepEqual(unknown.all(), []);
  });

  for (const [on, what] of SERVERS)
    it(`is nothing before the flows run, by another method, elsewhere, or on the path of an endpoint, on ${what}`, async () => {
      const unknownPaths = { begin: '/remote-monitoring/', paths: unknown };
      const receiver = await ReceiverUnderTest.start({ on, unknownPaths });
      const statusOf = (path: string, method = 'POST'): Promise<number> =>
        receiver.statusOf({ path, method, body: '{}' });
      try {
        assert.equal(await statusOf('/remote-monitoring/early'), 404);
        receiver.dispatcher.flowsStarted();
        assert.equal(await statusOf('/remote-monitoring/typo', 'GET'), 404);
        for (const path of ['/elsewhere', '/remote-monitoring']) assert.equal(await statusOf(path), 404);
        assert.equal(await statusOf(receiver.endpoint.path), 401);
        assert.deepEqual(told, []);
      } finally {
        await receiver.close();
      }
    });
});
