import assert from 'node:assert/strict';
import { fixtureSecond } from '../../support/rtsp/fixture';
import { ServerUnderTest, live, recorded } from '../../rtsp/server-under-test';
import { eventually } from '../../support/time/patience';
import { Streams, take, takePictures } from './streams';

describe('a stream of the sandbox', () => {
  const under = new ServerUnderTest();
  const streams = new Streams();
  afterEach(async () => {
    await streams.close();
    await under.stop();
  });

  it('begins with a key frame of the second that was asked for', async () => {
    const server = await under.start();
    const [first] = await takePictures(await streams.open(server.grant(recorded())), 1);
    assert.ok(first?.key);
    assert.equal(fixtureSecond(first.nals), 42);
  });

  it('has the pictures at their times', async () => {
    const server = await under.start({ pace: Infinity });
    const pictures = await takePictures(await streams.open(server.grant(recorded())), 11);
    assert.deepEqual(
      pictures.map(({ time }) => Math.round(time * 1000)),
      Array.from({ length: 11 }, (_, place) => place * 100),
    );
  });

  it('tells how it is decoded', async () => {
    const server = await under.start();
    const [first] = await takePictures(await streams.open(server.grant(live())), 1);
    assert.equal(first?.format.codecString, 'avc1.42C016');
    assert.deepEqual([first.format.width, first.format.height], [640, 360]);
  });

  it('ends behind the last picture, with the session', async () => {
    const server = await under.start({ pace: Infinity, recordingSeconds: 4 });
    const pictures = await take(await streams.open(server.grant(recorded())), 1000);
    assert.equal(pictures.length, 40);
    await eventually(() => server.sessionCount === 0, 'the end of the session');
  });

  it('begins later where a range says so', async () => {
    const server = await under.start();
    const stream = await streams.open(server.grant(recorded()), { range: { start: 5 } });
    const [first] = await takePictures(stream, 1);
    assert.equal(first && fixtureSecond(first.nals), 47);
  });

  it('tells the clock of the sender', async () => {
    const server = await under.start();
    const stream = await streams.open(server.grant(live()));
    const [first] = await takePictures(stream, 1);
    assert.equal(first && stream.wallClock(first.time), under.now);
  });

  it('is over for the server once it is closed', async () => {
    const server = await under.start();
    const stream = await streams.open(server.grant(live()));
    await take(stream, 1);
    assert.equal(server.sessionCount, 1);
    await stream.close();
    assert.equal(server.sessionCount, 0);
  });
});
