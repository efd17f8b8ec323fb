import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { serverOfEachTest, live } from './server-under-test';

const LOGIN = { username: 'viewer', password: 'p@ss/wörd' };

const BASIC = `Basic ${Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString('base64')}`;

function digest(challenge: string, uri: string): string {
  const hash = (text: string): string => createHash('md5').update(text).digest('hex');
  const realm = /realm="([^"]+)"/.exec(challenge)?.[1] ?? '';
  const nonce = /nonce="([^"]+)"/.exec(challenge)?.[1] ?? '';
  const secret = hash(`${LOGIN.username}:${realm}:${LOGIN.password}`);
  const response = hash(`${secret}:${nonce}:${hash(`DESCRIBE:${uri}`)}`);
  return `Digest username="${LOGIN.username}", realm="${realm}", nonce="${nonce}", uri="${uri}", response="${response}"`;
}

describe('RTSP with user name and password', () => {
  const under = serverOfEachTest();

  /** A URL that asks for a proof, the challenge with which it does, and how it answers DESCRIBE with one. */
  async function guarded(authentication: object) {
    const url = await under.granted(live(), {
      authentication: { scheme: 'digest', ...authentication, ...LOGIN },
    });
    const { status, headers } = await under.ask(url, 'DESCRIBE');
    assert.equal(status, 401);
    const prove = (Authorization: string) => under.ask(url, 'DESCRIBE', { Authorization });
    return { url, challenge: headers.get('www-authenticate') ?? '', prove };
  }

  it('the URL carries both, percent-encoded, and the answers repeat neither', async () => {
    const { url, prove } = await guarded({ scheme: 'basic' });
    const { username, password } = new URL(url);
    assert.deepEqual([decodeURIComponent(username), decodeURIComponent(password)], Object.values(LOGIN));
    const answer = await prove(BASIC);
    assert.equal(answer.status, 200);
    assert.doesNotMatch(answer.headers.get('content-base') ?? '', /viewer/);
  });

  it('Digest: a nonce that has become old is answered 401 with stale=true', async () => {
    const { url, challenge, prove } = await guarded({ nonceSeconds: 5 });
    under.now += 6000;
    const { status, headers } = await prove(digest(challenge, url));
    assert.equal(status, 401);
    assert.match(headers.get('www-authenticate') ?? '', /stale=true/);
  });

  it('OPTIONS needs no proof', async () => {
    const { url } = await guarded({});
    assert.equal((await under.ask(url, 'OPTIONS')).status, 200);
  });
});
