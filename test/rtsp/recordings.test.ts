import assert from 'node:assert/strict';

import { receivePictures, RtspStatusError } from '../support/rtsp/rtsp-client';
import { fixtureSecond } from '../support/rtsp/fixture';
import { SECOND_42, serverOfEachTest, live, recorded } from './server-under-test';

describe('recordings over RTSP', () => {
  const under = serverOfEachTest();

  it('what lies between the key frame and the moment that was asked for comes at once', async () => {
    // So slow that a picture which has to wait for its time does not come within the test.
    const start = SECOND_42 + 700;
    const { pictures } = await under.receive(8, recorded({ start }), { pace: 0.001 });
    assert.equal(pictures.length, 8);
    assert.equal(fixtureSecond(pictures[0]?.nals ?? []), 42);
  });

  it('so it does where a range asks for the moment', async () => {
    const { pictures } = await under.receive(6, recorded(), { pace: 0.001, range: 'npt=10.5-' });
    assert.equal(pictures.length, 6);
  });

  describe('that are late', () => {
    const LATE = { kind: 'recording-late', seconds: 5 } as const;

    it('not-found: DESCRIBE is answered 404 until the recording is there', async () => {
      const url = await under.granted(recorded(), { fault: { ...LATE, way: 'not-found' } });
      under.now = SECOND_42 + 4999;
      assert.equal((await under.ask(url, 'DESCRIBE')).status, 404);
      under.now = SECOND_42 + 5000;
      assert.equal((await under.ask(url, 'DESCRIBE')).status, 200);
    });

    it('ends: the stream ends with a BYE before its first picture', async () => {
      const server = await under.start({ pace: Infinity, fault: { ...LATE, way: 'ends' } });
      const early = await receivePictures(server.grant(recorded()), { pictures: 1 });
      assert.equal(early.pictures.length, 0);
      under.now += 5000;
      const later = await receivePictures(server.grant(recorded()), { pictures: 20 });
      assert.equal(later.pictures.length, 20);
    });

    it('short: the stream ends where it is recorded up to', async () => {
      under.now = SECOND_42 + 8000;
      const setting = { pace: Infinity, fault: { ...LATE, way: 'short' } } as const;
      const { pictures } = await under.receive(100, recorded(), setting);
      assert.equal(pictures.length, 30);
    });

    it('live video is there all the same', async () => {
      const fault = { ...LATE, way: 'not-found' } as const;
      assert.equal((await under.receive(1, live(), { fault })).pictures.length, 1);
    });

    it('a URL may be late by itself, and so may one camera', async () => {
      const late = await under.granted(recorded({ late: { seconds: 5, way: 'not-found' } }));
      await assert.rejects(receivePictures(late, { pictures: 1 }), RtspStatusError);
      under.server.setFault({ ...LATE, way: 'not-found', camera: 'cam-1' });
      assert.equal((await under.ask(under.server.grant(recorded()), 'DESCRIBE')).status, 404);
      assert.equal(
        (await under.ask(under.server.grant(recorded({ cameraId: 'cam-2' })), 'DESCRIBE')).status,
        200,
      );
    });
  });
});
