import assert from 'node:assert/strict';
import { Authentication, challengesIn, bestDigest, Digest } from '../../../lib/video/rtsp/authentication';
import type { Authentication as Asked } from '../../../sandbox/rtsp/authentication';
import { ServerUnderTest, live } from '../../rtsp/server-under-test';
import { goodReply, reply, type RelayRequest } from '../../support/rtsp/scripted-relay';
import { PlayedRelay, take } from './streams';

const LOGIN = { username: 'guard', password: 'p:a@s/s"w' };

describe('a stream that asks for a login', () => {
  const under = new ServerUnderTest();
  const at = new PlayedRelay();
  afterEach(() => under.stop());
  /** With a login. */
  const urlOf = (relay: { url: string }): string => relay.url.replace('//', '//guard:word@');

  const WAYS: Asked[] = [
    { ...LOGIN, scheme: 'basic' },
    { ...LOGIN, scheme: 'digest' },
    { ...LOGIN, scheme: 'digest', algorithm: 'SHA-256' },
  ];
  for (const authentication of WAYS) {
    const name = `${authentication.scheme} ${authentication.algorithm ?? ''}`.trim();
    it(`gets that of its URL: ${name}`, async () => {
      const server = await under.start({ authentication });
      assert.equal((await take(await at.open(server.grant(live())), 1)).length, 1);
    });

    for (const [what, found, other] of [
      ['that is wrong', 'guard', 'other'],
      ['the URL has none', /\/\/.*@/, '//'],
    ] as const)
      it(`is refused with 401 where ${what}: ${name}`, async () => {
        const server = await under.start({ authentication });
        const url = server.grant(live()).replace(found, other);
        assert.equal((await at.refusal(url, 'VIDEO_FAILED')).cause.status, 401);
      });
  }

  it('gets a new proof where the nonce has aged', async () => {
    const server = await under.start({ authentication: { ...LOGIN, scheme: 'digest', nonceSeconds: -1 } });
    const url = server.grant(live());
    // Each nonce is stale from the beginning: that must end, too.
    assert.equal((await at.refusal(url, 'VIDEO_FAILED')).cause.status, 401);
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
      const relay = await at.start({ DESCRIBE: answer, SETUP: answer, PLAY: answer, TEARDOWN: answer });
      const stream = await at.open(urlOf(relay));
      await stream.close();
      const asked = relay.methods.filter((method) => method !== 'OPTIONS').join(' ');
      assert.equal(asked, 'DESCRIBE DESCRIBE SETUP SETUP PLAY PLAY TEARDOWN TEARDOWN');
    });

  it('counts how often a nonce was used', async () => {
    const challenge = { 'WWW-Authenticate': 'Digest realm="r", nonce="n", qop="auth,auth-int", opaque="o"' };
    const relay = await at.start({
      DESCRIBE: (request) =>
        request.headers.has('authorization') ? goodReply(request) : reply(request, 401, challenge),
    });
    await at.open(urlOf(relay));
    const [, described, setUp] = relay.requests.map(({ headers }) => headers.get('authorization') ?? '');
    assert.match(described ?? '', /opaque="o", qop=auth, nc=00000001, cnonce="\w{32}"$/);
    assert.match(setUp ?? '', /nc=00000002/);
  });

  it('has the login in no request line, and tells none before it is asked', async () => {
    const relay = await at.start();
    await at.open(urlOf(relay));
    assert.ok(relay.requests.length >= 3);
    for (const { url, headers } of relay.requests) {
      assert.doesNotMatch(url, /@|guard|word/);
      assert.equal(headers.get('authorization'), undefined);
    }
  });
});

describe('the proof of a login', () => {
  function digestOf(header: string, login = { username: 'Mufasa', password: 'Circle of Life' }): string {
    const challenge = bestDigest(challengesIn([header]));
    assert.ok(challenge);
    const nonce = 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ';
    return new Digest(login, challenge, nonce).authorization('GET', '/dir/index.html');
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
    const challenge = 'Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"';
    const proof = digestOf(challenge, { username: 'Mufasa', password: 'Circle Of Life' });
    assert.ok(proof.includes('response="670fd8c2df070c60b045671b8b24ff02"'), proof);
    assert.doesNotMatch(proof, /nc=|qop=|cnonce=/);
  });

  it("of a session is made with the client's nonce", () => {
    const [proof = '', other = ''] = ['MD5-sess', 'MD5'].map((algorithm) =>
      digestOf(`Digest realm="r", nonce="n", algorithm=${algorithm}, qop="auth"`),
    );
    for (const part of ['algorithm=MD5-sess', 'cnonce="f2']) assert.ok(proof.includes(part), proof);
    assert.notEqual(/response="(\w+)"/.exec(proof)?.[1], /response="(\w+)"/.exec(other)?.[1]);
  });

  const BY = (algorithm: string): string => `Digest realm="a", nonce="n", algorithm=${algorithm}`;
  for (const [best, headers] of [
    ['SHA-256', [BY('MD5'), BY('SHA-256')]],
    ['SHA-256', [`${BY('MD5')}, ${BY('SHA-256')}`]],
    ['MD5', ['Basic realm="a"', BY('MD5')]],
    ['MD5', [BY('SHA-512-256'), 'Digest nonce="n", realm="x\\"y", algorithm=MD5']],
  ] as const)
    it(`is by ${best}, the best of ${headers.join(' and ')}`, () => {
      assert.equal(bestDigest(challengesIn(headers))?.parameters.get('algorithm'), best);
    });

  it('is none where no challenge can be answered', () => {
    const onlyBody = 'Digest realm="a", nonce="n", qop="auth-int"';
    for (const header of ['Negotiate', onlyBody, 'Digest realm="a"', '', '=,"']) {
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
