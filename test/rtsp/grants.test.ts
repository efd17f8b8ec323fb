import assert from 'node:assert/strict';

import { receivePictures } from '../support/rtsp/rtsp-client';
import { ServerUnderTest, live, recorded } from './server-under-test';

describe('one-time RTSP URLs', () => {
  const under = new ServerUnderTest();
  afterEach(() => under.stop());

  it('have an unguessable token in the path, and nothing that a command line would trip over', async () => {
    const server = await under.start();
    const urls = [server.grant(live()), server.grant(live({ cameraId: 'a\'b"`$ c/é' }))];
    for (const url of urls) {
      assert.match(url, /^rtsp:\/\/127\.0\.0\.1:\d+\/live\/[\w%.~!*()-]+\/[\w-]{32}$/);
      assert.equal((await under.ask(url, 'DESCRIBE')).status, 200);
    }
    assert.notEqual(urls[0], server.grant(live()));
  });

  it('may be described as often as a player likes before the first PLAY', async () => {
    const server = await under.start();
    const url = server.grant(live());
    for (let i = 0; i < 3; i++) assert.equal((await under.ask(url, 'DESCRIBE')).status, 200);
    assert.equal((await receivePictures(url, { pictures: 1 })).pictures.length, 1);
  });

  it('are used up by the first session that plays: 403', async () => {
    const server = await under.start();
    const url = server.grant(recorded());
    await receivePictures(url, { pictures: 1 });
    await assert.rejects(receivePictures(url, { pictures: 1 }), { method: 'DESCRIBE', status: 403 });
    assert.equal((await under.ask(url, 'SETUP', { Transport: 'RTP/AVP/TCP' })).status, 403);
  });

  it('go to the first of two sessions that plays; the second gets 403', async () => {
    const server = await under.start();
    const url = server.grant(recorded());
    const first = await under.readyPlayer(url);
    const second = await under.readyPlayer(url);
    await second.play();
    await assert.rejects(first.play(), { method: 'PLAY', status: 403 });
  });

  it('let their own session play again, as a seek does', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    await player.play('npt=20-');
    assert.equal(await player.describe().then((sdp) => sdp.startsWith('v=0')), true);
  });

  it('are not used up by a session that never played', async () => {
    const server = await under.start();
    const url = server.grant(recorded());
    await (await under.readyPlayer(url)).teardown();
    assert.equal((await receivePictures(url, { pictures: 1 })).pictures.length, 1);
  });

  it('expire after 300 seconds of the clock without a PLAY: 403', async () => {
    const server = await under.start();
    const url = server.grant(live());
    under.now += 299_999;
    assert.equal((await under.ask(url, 'DESCRIBE')).status, 200);
    under.now += 1;
    assert.equal((await under.ask(url, 'DESCRIBE')).status, 403);
  });

  it('expire between SETUP and PLAY too', async () => {
    const server = await under.start({ urlLifetimeSeconds: 10 });
    const player = await under.readyPlayer(server.grant(live()));
    under.now += 10_000;
    await assert.rejects(player.play(), { method: 'PLAY', status: 403 });
  });

  it('do not expire under a session that plays', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    under.now += 3_600_000;
    await player.pause();
    await player.play('npt=5-');
  });

  it('can be good for several sessions', async () => {
    const server = await under.start({ uses: 2 });
    const url = server.grant(live());
    await receivePictures(url, { pictures: 1 });
    await receivePictures(url, { pictures: 1 });
    await assert.rejects(receivePictures(url, { pictures: 1 }), { status: 403 });
  });

  it('can carry the token in the query, with an absolute control that works with every player', async () => {
    const server = await under.start({ tokenPlace: 'query' });
    const url = server.grant(live());
    assert.match(url, /\/live\/cam-1\?token=[\w-]{32}$/);
    const { sdp, pictures } = await receivePictures(url, { pictures: 1 });
    assert.ok(sdp.includes(`a=control:${url.replace('?', '/track1?')}\r\n`));
    assert.equal(pictures.length, 1);
  });

  it('can lose the token as real relays do: query and a relative control', async () => {
    const server = await under.start({ tokenPlace: 'query', trackControl: 'relative' });
    const url = server.grant(live());
    const answer = await under.ask(`${url}/track1`, 'SETUP', { Transport: 'RTP/AVP/TCP' });
    assert.equal(answer.status, 404);
  });

  it('are forgotten, the oldest first, where somebody only ever asks for them', async () => {
    const server = await under.start();
    const oldest = server.grant(live());
    const urls = Array.from({ length: 5000 }, () => server.grant(live()));
    assert.equal((await under.ask(oldest, 'DESCRIBE')).status, 404);
    assert.equal((await under.ask(urls[0] ?? '', 'DESCRIBE')).status, 200);
  });
});
