import assert from 'node:assert/strict';
import { Authentication, challengesIn, bestDigest, Digest } from '../../../lib/video/rtsp/authentication';
import type { Authentication as Asked } from '../../../sandbox/rtsp/authentication';
import { ServerUnderTest, live } from '../../rtsp/server-under-test';
import { reply, ScriptedRelay, goodReply, type RelayRequest } from '../../support/rtsp/scripted-relay';
import { Streams, take } from './streams';

const LOGIN = { username: 'guard', password: 'p:a@s/s"w' };

describe('a stream that asks for a login', () => {
  const under = new ServerUnderTest();
  const streams = new Streams();
  let relay: ScriptedRelay | undefined;
  afterEach(async () => {
    await streams.close();
    await under.stop();
    await relay?.close();
    relay = undefined;
  });

  const WAYS: Asked[] = [
    { ...LOGIN, scheme: 'basic' },
    { ...LOGIN, scheme: 'digest' },
    { ...LOGIN, scheme: 'digest', algorithm: 'SHA-256' },
  ];
  for (const authentication of WAYS) {
    const name = `${authentication.scheme} ${authentication.algorithm ?? ''}`.trim();
    it(`gets that of its URL: ${name}`, async () => {
      const server = await under.start({ authentication });
      assert.equal((await take(await streams.open(server.grant(live())), 1)).length, 1);
    });

    it(`is refused with 401 where that is wrong: ${name}`, async () => {
      const server = await under.start({ authentication });
      const url = server.grant(live()).replace('guard', 'other');
      assert.equal((await streams.refusal(url, 'VIDEO_FAILED')).cause.status, 401);
    });

    it(`is refused with 401 where the URL has none: ${name}`, async () => {
      const server = await under.start({ authentication });
      const url = server.grant(live()).replace(/\/\/.*@/, '//');
      assert.equal((await streams.refusal(url, 'VIDEO_FAILED')).cause.status, 401);
    });
  }

  it('gets a new proof where the nonce has aged', async () => {
    const server = await under.start({ authentication: { ...LOGIN, scheme: 'digest', nonceSeconds: -1 } });
    const url = server.grant(live());
    // Each nonce is stale from the beginning: that must end, too.
    assert.equal((await streams.refusal(url, 'VIDEO_FAILED')).cause.status, 401);
  });

  /** Asks each request for a proof by a nonce that was not used, and tells why the former one is no longer good, or not. */
  function oneNonceARequest(more: string): (request: RelayRequest) => string {
    let nonce = 0;
    const isAnswered = new Set<number>();
    return (request) => {
      const used = Number(/nonce="n(\d+)"/.exec(request.headers.get('authorization') ?? '')?.[1] ?? 0);
      if (used === nonce && nonce > 0 && !isAnswered.has(nonce)) {
        isAnswered.add(nonce);
        return goodReply(request);
      }
      nonce += 1;
      const challenge = `Digest realm="r", nonce="n${nonce}", qop="auth"${more}`;
      return reply(request, 401, { 'WWW-Authenticate': challenge });
    };
  }

  for (const more of [', stale=true', ''])
    it(`proves itself anew for each request where the server wants it so${more}`, async () => {
      const answer = oneNonceARequest(more);
      relay = await ScriptedRelay.start({ DESCRIBE: answer, SETUP: answer, PLAY: answer, TEARDOWN: answer });
      const stream = await streams.open(relay.url.replace('//', '//guard:word@'));
      await stream.close();
      assert.deepEqual(
        relay.methods.filter((method) => method !== 'OPTIONS'),
        ['DESCRIBE', 'DESCRIBE', 'SETUP', 'SETUP', 'PLAY', 'PLAY', 'TEARDOWN', 'TEARDOWN'],
      );
    });

  it('counts how often a nonce was used', async () => {
    const challenge = { 'WWW-Authenticate': 'Digest realm="r", nonce="n", qop="auth,auth-int", opaque="o"' };
    relay = await ScriptedRelay.start({
      DESCRIBE: (request) =>
        request.headers.has('authorization') ? goodReply(request) : reply(request, 401, challenge),
    });
    await streams.open(relay.url.replace('//', '//guard:word@'));
    const [, described, setUp] = relay.requests.map(({ headers }) => headers.get('authorization') ?? '');
    assert.match(described ?? '', /opaque="o", qop=auth, nc=00000001, cnonce="\w{32}"$/);
    assert.match(setUp ?? '', /nc=00000002/);
  });

  it('has the login in no request line', async () => {
    relay = await ScriptedRelay.start();
    await streams.open(relay.url.replace('//', '//guard:word@'));
    assert.ok(relay.requests.length >= 3);
    for (const { url } of relay.requests) assert.doesNotMatch(url, /@|guard|word/);
  });

  it('is told no login before it asks', async () => {
    relay = await ScriptedRelay.start();
    await streams.open(relay.url.replace('//', '//guard:word@'));
    for (const { headers } of relay.requests) assert.equal(headers.get('authorization'), undefined);
  });
});

describe('the proof of a login', () => {
  function digestOf(header: string, login = { username: 'Mufasa', password: 'Circle of Life' }): string {
    const challenge = bestDigest(challengesIn([header]));
    assert.ok(challenge);
    return new Digest(login, challenge, 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ').authorization(
      'GET',
      '/dir/index.html',
    );
  }

  // RFC 7616, section 3.9.1.
  const RFC_7616 =
    'Digest realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"';
  for (const [algorithm, response] of [
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
    ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ])
    it(`is that of the standard: ${algorithm}`, () => {
      assert.ok(digestOf(`${RFC_7616}, algorithm=${algorithm}`).includes(`response="${response}"`));
    });

  it('has no count where the server knows of none, as in RFC 2617, section 3.5, and RFC 2069', () => {
    const proof = digestOf('Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"', {
      username: 'Mufasa',
      password: 'Circle Of Life',
    });
    assert.ok(proof.includes('response="670fd8c2df070c60b045671b8b24ff02"'), proof);
    assert.doesNotMatch(proof, /nc=|qop=|cnonce=/);
  });

  it("of a session is made with the client's nonce", () => {
    const proof = digestOf('Digest realm="r", nonce="n", algorithm=MD5-sess, qop="auth"');
    assert.match(proof, /algorithm=MD5-sess/);
    assert.match(proof, /cnonce="f2/);
    assert.notEqual(
      /response="(\w+)"/.exec(proof)?.[1],
      /response="(\w+)"/.exec(digestOf('Digest realm="r", nonce="n", algorithm=MD5, qop="auth"'))?.[1],
    );
  });

  for (const [best, headers] of [
    [
      'SHA-256',
      ['Digest realm="a", nonce="n", algorithm=MD5', 'Digest realm="a", nonce="n", algorithm=SHA-256'],
    ],
    [
      'SHA-256',
      ['Digest realm="a", nonce="n", algorithm=MD5, Digest realm="a", nonce="n", algorithm=SHA-256'],
    ],
    ['MD5', ['Basic realm="a"', 'Digest realm="a", nonce="n", algorithm=MD5']],
    [
      'MD5',
      [
        'Digest realm="a", nonce="n", algorithm=SHA-512-256',
        'Digest nonce="n", realm="x\\"y", algorithm=MD5',
      ],
    ],
  ] as const)
    it(`is by ${best}, the best of ${headers.join(' and ')}`, () => {
      assert.equal(bestDigest(challengesIn(headers))?.parameters.get('algorithm'), best);
    });

  it('is none where no challenge can be answered', () => {
    for (const header of [
      'Negotiate',
      'Digest realm="a", nonce="n", qop="auth-int"',
      'Digest realm="a"',
      '',
      '=,"',
    ]) {
      const authentication = new Authentication(LOGIN);
      assert.equal(authentication.takes([header]), false, header);
      assert.equal(authentication.authorization('PLAY', 'x'), undefined);
    }
  });

  it('forges no line by a name of the user', () => {
    const authentication = new Authentication({ username: 'a\r\nX: y', password: 'b' });
    assert.equal(authentication.takes(['Digest realm="a", nonce="n"']), false);
  });
});
