import assert from 'node:assert/strict';
import type { GrantRequest, RtspServer, RtspServerOptions } from '../../sandbox/rtsp/server';
import { receivePictures } from '../support/rtsp/rtsp-client';
import { serverOfEachTest, live, recorded } from './server-under-test';

const ONE = { pictures: 1 };

describe('one-time RTSP URLs', () => {
  const under = serverOfEachTest();

  /** A server, a URL of it, and the status of a DESCRIBE of that. */
  async function granted(request: GrantRequest, options: Partial<RtspServerOptions> = {}) {
    const server: RtspServer = await under.start(options);
    const url = server.grant(request);
    return { server, url, status: async () => (await under.ask(url, 'DESCRIBE')).status };
  }

  it('have an unguessable token in the path, and nothing that a command line would trip over', async () => {
    const { server } = await granted(live());
    const urls = [server.grant(live()), server.grant(live({ cameraId: 'a\'b"`$ c/é' }))];
    for (const url of urls) {
      assert.match(url, /^rtsp:\/\/127\.0\.0\.1:\d+\/live\/[\w%.~!*()-]+\/[\w-]{32}$/);
      assert.equal((await under.ask(url, 'DESCRIBE')).status, 200);
    }
    assert.notEqual(urls[0], server.grant(live()));
  });

  it('may be described as often as a player likes before the first PLAY, which uses them up: 403', async () => {
    const { url, status } = await granted(recorded());
    for (let i = 0; i < 3; i++) assert.equal(await status(), 200);
    assert.equal((await receivePictures(url, ONE)).pictures.length, 1);
    await assert.rejects(receivePictures(url, ONE), { method: 'DESCRIBE', status: 403 });
    assert.equal((await under.ask(url, 'SETUP', { Transport: 'RTP/AVP/TCP' })).status, 403);
  });

  it('go to the first of two sessions that plays; the second gets 403', async () => {
    const { url } = await granted(recorded());
    const [first, second] = [await under.readyPlayer(url), await under.readyPlayer(url)];
    await second.play();
    await assert.rejects(first.play(), { method: 'PLAY', status: 403 });
  });

  it('let their own session play again, as a seek does', async () => {
    const player = await under.playing(recorded());
    await player.play('npt=20-');
    assert.ok((await player.describe()).startsWith('v=0'));
  });

  it('are not used up by a session that never played', async () => {
    const { url } = await granted(recorded());
    await (await under.readyPlayer(url)).teardown();
    assert.equal((await receivePictures(url, ONE)).pictures.length, 1);
  });

  it('expire after 300 seconds of the clock without a PLAY: 403', async () => {
    const { status } = await granted(live());
    under.now += 299_999;
    assert.equal(await status(), 200);
    under.now += 1;
    assert.equal(await status(), 403);
  });

  it('expire between SETUP and PLAY too', async () => {
    const player = await under.ready(live(), { urlLifetimeSeconds: 10 });
    under.now += 10_000;
    await assert.rejects(player.play(), { method: 'PLAY', status: 403 });
  });

  it('do not expire under a session that plays', async () => {
    const player = await under.playing(recorded());
    under.now += 3_600_000;
    await player.pause();
    await player.play('npt=5-');
  });

  it('can be good for several sessions', async () => {
    const { url } = await granted(live(), { uses: 2 });
    for (let turn = 0; turn < 2; turn += 1) await receivePictures(url, ONE);
    await assert.rejects(receivePictures(url, ONE), { status: 403 });
  });

  it('can carry the token in the query, with an absolute control that works with every player', async () => {
    const { url } = await granted(live(), { tokenPlace: 'query' });
    assert.match(url, /\/live\/cam-1\?token=[\w-]{32}$/);
    const { sdp, pictures } = await receivePictures(url, ONE);
    assert.ok(sdp.includes(`a=control:${url.replace('?', '/track1?')}\r\n`));
    assert.equal(pictures.length, 1);
  });

  it('can lose the token as real relays do: query and a relative control', async () => {
    const { url } = await granted(live(), { tokenPlace: 'query', trackControl: 'relative' });
    assert.equal((await under.ask(`${url}/track1`, 'SETUP', { Transport: 'RTP/AVP/TCP' })).status, 404);
  });

  it('are forgotten, the oldest first, where somebody only ever asks for them', async () => {
    const { server, status } = await granted(live());
    const urls = Array.from({ length: 5000 }, () => server.grant(live()));
    assert.equal(await status(), 404);
    assert.equal((await under.ask(urls[0] ?? '', 'DESCRIBE')).status, 200);
  });
});
