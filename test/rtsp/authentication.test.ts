import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';

import { ServerUnderTest, live } from './server-under-test';

const LOGIN = { username: 'viewer', password: 'p@ss/wörd' };
type Algorithm = 'md5' | 'sha256';

function digest(
  challenge: string,
  method: string,
  uri: string,
  algorithm: Algorithm,
  password: string,
): string {
  const hash = (text: string): string => createHash(algorithm).update(text).digest('hex');
  const realm = /realm="([^"]+)"/.exec(challenge)?.[1] ?? '';
  const nonce = /nonce="([^"]+)"/.exec(challenge)?.[1] ?? '';
  const secret = hash(`${LOGIN.username}:${realm}:${password}`);
  const response = hash(`${secret}:${nonce}:${hash(`${method}:${uri}`)}`);
  return `Digest username="${LOGIN.username}", realm="${realm}", nonce="${nonce}", uri="${uri}", response="${response}"`;
}

describe('RTSP with user name and password', () => {
  const under = new ServerUnderTest();
  afterEach(() => under.stop());

  it('the URL carries both, percent-encoded, and the answers repeat neither', async () => {
    const server = await under.start({ authentication: { scheme: 'basic', ...LOGIN } });
    const url = new URL(server.grant(live()));
    assert.deepEqual(
      [decodeURIComponent(url.username), decodeURIComponent(url.password)],
      Object.values(LOGIN),
    );
    const Authorization = `Basic ${Buffer.from(Object.values(LOGIN).join(':')).toString('base64')}`;
    const answer = await under.ask(url.href, 'DESCRIBE', { Authorization });
    assert.doesNotMatch(answer.headers.get('content-base') ?? '', /viewer/);
  });

  it('Basic: 401 with WWW-Authenticate without a proof or with a wrong one, 200 with the right one', async () => {
    const server = await under.start({ authentication: { scheme: 'basic', ...LOGIN } });
    const url = server.grant(live());
    const first = await under.ask(url, 'DESCRIBE');
    assert.equal(first.status, 401);
    assert.equal(first.headers.get('www-authenticate'), 'Basic realm="SANDBOX"');
    const wrong = `Basic ${Buffer.from('viewer:wrong').toString('base64')}`;
    assert.equal((await under.ask(url, 'DESCRIBE', { Authorization: wrong })).status, 401);
    const right = `Basic ${Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString('base64')}`;
    assert.equal((await under.ask(url, 'DESCRIBE', { Authorization: right })).status, 200);
  });

  for (const [name, algorithm] of [
    ['MD5', 'md5'],
    ['SHA-256', 'sha256'],
  ] as const)
    it(`Digest with ${name}: 401 with a nonce, 200 with the right response, 401 with a wrong password`, async () => {
      const server = await under.start({ authentication: { scheme: 'digest', algorithm: name, ...LOGIN } });
      const url = server.grant(live());
      const challenge = (await under.ask(url, 'DESCRIBE')).headers.get('www-authenticate') ?? '';
      assert.ok(challenge.includes(`algorithm=${name}`));
      const prove = (password: string): Record<string, string> => ({
        Authorization: digest(challenge, 'DESCRIBE', url, algorithm, password),
      });
      assert.equal((await under.ask(url, 'DESCRIBE', prove(LOGIN.password))).status, 200);
      assert.equal((await under.ask(url, 'DESCRIBE', prove('wrong'))).status, 401);
    });

  it('Digest: a nonce that has become old is answered 401 with stale=true', async () => {
    const server = await under.start({ authentication: { scheme: 'digest', nonceSeconds: 5, ...LOGIN } });
    const url = server.grant(live());
    const challenge = (await under.ask(url, 'DESCRIBE')).headers.get('www-authenticate') ?? '';
    under.now += 6000;
    const Authorization = digest(challenge, 'DESCRIBE', url, 'md5', LOGIN.password);
    const answer = await under.ask(url, 'DESCRIBE', { Authorization });
    assert.equal(answer.status, 401);
    assert.match(answer.headers.get('www-authenticate') ?? '', /stale=true/);
  });

  it('OPTIONS needs no proof', async () => {
    const server = await under.start({ authentication: { scheme: 'digest', ...LOGIN } });
    assert.equal((await under.ask(server.grant(live()), 'OPTIONS')).status, 200);
  });
});
