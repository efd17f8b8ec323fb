import assert from 'node:assert/strict';
import { fixtureSecond } from '../../support/rtsp/fixture';
import { ServerUnderTest, live, recorded } from '../../rtsp/server-under-test';
import { Streams, takePictures } from './streams';

describe('a stream of the sandbox', () => {
  const under = new ServerUnderTest();
  const streams = new Streams();
  afterEach(() => under.stop());

  it('begins with a key frame of the second that was asked for', async () => {
    const server = await under.start();
    const [first] = await takePictures(await streams.open(server.grant(recorded())), 1);
    assert.ok(first?.key);
    assert.equal(fixtureSecond(first.nals), 42);
  });

  it('tells how it is decoded, and the clock of the sender', async () => {
    const stream = await streams.open((await under.start()).grant(live()));
    const [first = assert.fail()] = await takePictures(stream, 1);
    const { codecString, width, height } = first.format;
    assert.deepEqual([codecString, width, height], ['avc1.42C016', 640, 360]);
    assert.equal(stream.wallClock(first.time), under.now);
  });
});
