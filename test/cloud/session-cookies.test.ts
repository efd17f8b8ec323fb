import assert from 'node:assert/strict';
import { MemoryCookieStore } from 'tough-cookie';
import { SessionCookies } from '../../lib/cloud/session/cookie-session';
import { replaceMethod } from '../support/time/patience';

const SERVICE = new URL('https://service.example/rtsp/1');

function at(path: string): URL {
  return new URL(path, SERVICE);
}

describe('the cookies of a session', () => {
  const now = Date.now;
  let cookies: SessionCookies;

  beforeEach(() => {
    cookies = new SessionCookies(SERVICE.origin);
  });
  afterEach(() => void (Date.now = now));

  /** So many seconds from the beginning of the test. */
  function pass(seconds: number): void {
    Date.now = () => now() + seconds * 1000;
  }

  /** What the service is sent, and how it logs in. */
  const sent = (path = '/rtsp/1'): string => cookies.headerFor(at(path));
  function logIn(...set: string[]): void {
    cookies.keep(set, at('/login'), true);
    cookies.loggedIn();
  }

  it('T-05 are sent until their time is over, and do not live on because they are in use', () => {
    cookies.keep('sid=1; Path=/; Max-Age=60', SERVICE);
    for (const seconds of [20, 40, 59]) {
      pass(seconds);
      assert.equal(sent(), 'sid=1');
      assert.equal(sent(`/device/${seconds}`), 'sid=1');
    }
    pass(61);
    for (const path of ['/rtsp/1', '/device/20', '/device/61']) assert.equal(sent(path), '');
  });

  /** What is sent after a thousand cookies more. */
  function afterFlood(): string[] {
    for (let n = 0; n < 1000; n += 1) cookies.keep(`c${n}=${n}; Path=/`, SERVICE);
    return sent().split('; ');
  }

  it('are right for more addresses than are remembered', () => {
    cookies.keep('sid=1; Path=/rtsp', SERVICE);
    for (let camera = 0; camera < 3000; camera += 1) {
      assert.equal(sent(`/rtsp/${camera}`), 'sid=1');
      assert.equal(sent(`/sources/${camera}`), '');
    }
  });

  it('are at most 64, of which those of the login stay, and of the others the newest', () => {
    logIn('sid=1; Path=/', 'route=7; Path=/');
    const all = afterFlood();
    assert.equal(all.length, 64);
    assert.equal(cookies.values.length, 64);
    for (const cookie of ['sid=1', 'route=7', 'c999=999']) assert.ok(all.includes(cookie), cookie);
    assert.ok(!all.includes('c0=0'));
  });

  it('T-05 are at most 64, of which those stay that were there when the login had succeeded', () => {
    cookies.keep('sid=1; Path=/', at('/system'));
    cookies.keep('theme=dark; Path=/', at('/login'), true);
    cookies.keep('route=7; Path=/', at('/system'));
    cookies.loggedIn();
    const all = afterFlood();
    for (const cookie of ['sid=1', 'theme=dark', 'route=7', 'c999=999'])
      assert.ok(all.includes(cookie), cookie);
  });

  it('T-05 keep the first of more than 64 that the answers of a login set', () => {
    const flood = Array.from({ length: 70 }, (_, n) => `c${n}=${n}; Path=/`);
    cookies.keep(['pre=0; Path=/', ...flood], at('/system'));
    assert.ok(sent().startsWith('pre=0; '));
    logIn('sid=1; Path=/', ...flood);
    const all = afterFlood();
    assert.equal(all.length, 64);
    assert.ok(all.includes('sid=1'));
  });

  it('take at most 16 KiB, also where the login alone sets more', () => {
    const own = Array.from({ length: 60 }, (_, n) => `own${n}=${'x'.repeat(1000)}; Path=/`);
    cookies.keep(own, at('/login'), true);
    assert.ok(sent().length < 17 * 1024);
    cookies.keep(`big=${'x'.repeat(20_000)}; Path=/`, SERVICE);
    assert.ok(sent().length < 17 * 1024);
  });

  it('T-05 stay as they were renewed since the login where others are too many', () => {
    logIn('sid=first; Path=/');
    cookies.keep(['sid=renewed; Path=/', `other=${'x'.repeat(9000)}; Path=/`], SERVICE);
    cookies.dropOthers();
    assert.equal(sent(), 'sid=renewed');
  });

  it('T-05 that have ended since the login do not come back', () => {
    logIn('sid=1; Path=/', 'once=1; Path=/; Max-Age=60');
    cookies.keep(`sid=${'x'.repeat(9000)}; Path=/`, SERVICE);
    pass(61);
    cookies.dropOthers();
    assert.equal(sent(), 'sid=1');
  });

  it('count once where they come again, and no more once they have ended', () => {
    for (let n = 0; n < 1000; n += 1) cookies.keep('sid=1; Path=/', SERVICE);
    for (let n = 0; n < 63; n += 1) cookies.keep(`c${n}=1; Path=/`, SERVICE);
    cookies.keep('c0=; Path=/; Max-Age=0', SERVICE);
    cookies.keep('c63=1; Path=/', SERVICE);
    assert.ok(sent().includes('sid=1'));
    assert.equal(cookies.values.length, 64);
  });

  it('T-05 of another trusted origin are for its host alone, whatever Domain they have', () => {
    logIn('sid=1; Path=/');
    const neighbour = new URL('https://relay.service.example/picture');
    cookies.keep(['sid=other; Domain=service.example; Path=/rtsp', 'own=1; Path=/'], neighbour);
    assert.equal(sent(), 'sid=1');
    assert.equal(cookies.headerFor(new URL('/rtsp/1', neighbour)), 'sid=other; own=1');
  });

  it('T-05 go to the whole Domain that the service or its login names', () => {
    const login = new URL('https://login.service.example/login');
    const video = new URL('https://video.service.example/rtsp');
    cookies.keep('sid=1; Domain=service.example; Path=/', login, true);
    cookies.loggedIn();
    assert.equal(cookies.headerFor(video), 'sid=1');
    cookies.keep('sid=2; Domain=service.example; Path=/', login);
    cookies.keep('route=7; Domain=service.example; Path=/', SERVICE);
    assert.equal(cookies.headerFor(video), 'sid=2; route=7');
  });

  for (const [kind, attributes] of [
    ['are over when they come', '; Max-Age=0'],
    ['are driven out', ''],
  ]) {
    it(`leave nothing behind where others ${kind}, each on a path of its own`, () => {
      logIn('sid=1; Path=/');
      for (let answer = 0; answer < 20; answer += 1) {
        const others = Array.from({ length: 100 }, (_, n) => `a=1; Path=/${answer}-${n}${attributes}`);
        cookies.keep(others, SERVICE);
      }
      assert.ok(pathsLookedThrough(() => sent()) <= 64);
      assert.equal(sent(), 'sid=1');
    });
  }

  it('ignore what is no cookie', () => {
    cookies.keep(['', ';', 'sid=1; Domain=other.example'], SERVICE);
    assert.equal(sent(), '');
  });
});

/** How many paths a store of cookies knows while a piece of work looks for some in it. */
function pathsLookedThrough(work: () => void): number {
  let paths = 0;
  const putBack = replaceMethod<{ idx: Record<string, object> }>(
    MemoryCookieStore.prototype,
    'findCookies',
    (find) =>
      function (...wanted) {
        paths += Object.values(this.idx).flatMap(Object.keys).length;
        return find.call(this, ...wanted);
      },
  );
  try {
    work();
  } finally {
    putBack();
  }
  return paths;
}
