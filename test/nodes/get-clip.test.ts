import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { bytesOf } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';
import { caller, type Message, barAt, clipIn, LONG_AGO, VideoFlow } from '../support/node-red/station-flow';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { needs } from '../support/suite/programs';
import { complaints, firstPicture, probed, topBoxes } from '../support/video/played-clip';
import { numberIn } from '../support/video/encoded-video';

for (const version of NODE_RED_VERSIONS) {
  describe(`get clip in Node-RED ${version}`, () => {
    let flow: VideoFlow;

    before(async function () {
      needs(this, 'ffmpeg', 'ffprobe');
      flow = await VideoFlow.start(version);
    });
    after(() => flow?.stop());

    function getClip(properties: Message = {}): FlowNode {
      return caller('rvm-get-clip', { mode: 'event', preRoll: 1, seconds: 2, ...properties });
    }

    it('gives the alarm as an MP4 that plays while it loads, and says what it is', async () => {
      await flow.deploy([getClip()]);
      const msg = await flow.station.through({
        event: flow.event(),
        topic: 'mine',
        headers: { cookie: 'x' },
      });
      const bytes = bytesOf(msg.payload);
      const clip = clipIn(msg);
      assert.deepEqual(topBoxes(bytes), ['ftyp', 'moov', 'mdat']);
      assert.equal(complaints(bytes), '');
      const { streams, format } = probed(bytes);
      const [video] = streams;
      assert.deepEqual(
        { ...clip, seconds: clip.seconds.toFixed(2), to: Date.parse(clip.to) - LONG_AGO },
        {
          cameraId: flow.camera.id,
          from: new Date(LONG_AGO - 1000).toISOString(),
          to: Date.parse(clip.from) - LONG_AGO + clip.seconds * 1000 - 3000 / clip.frames,
          seconds: Number(format.duration).toFixed(2),
          bytes: bytes.length,
          sha256: createHash('sha256').update(bytes).digest('hex'),
          codecs: clip.codecs,
          width: video?.width,
          height: video?.height,
          frames: Number(video?.nb_frames),
          partial: false,
        },
      );
      assert.equal(clip.seconds, 3);
      assert.match(clip.codecs, /^avc1\.42/);
      assert.equal(await numberIn(firstPicture(bytes)), barAt(LONG_AGO - 1000));
      assert.equal(msg.topic, 'mine');
      assert.deepEqual(msg.headers, { 'content-type': 'video/mp4' });
      const stamp = new Date(LONG_AGO - 1000).toISOString().replaceAll(/[-:]|\.\d+/g, '');
      assert.equal(msg.filename, `${flow.camera.name.replaceAll(' ', '-')}-${stamp}.mp4`);
    });

    it('gives clips of a camera and a time of choice', async () => {
      const camera = { camera: 'where', cameraType: 'msg' };
      const time = { time: 'when', timeType: 'msg' };
      await flow.deploy([getClip({ mode: 'recorded', ...camera, ...time, preRoll: 0, seconds: 1 })]);
      const when = new Date(LONG_AGO + 5000).toISOString();
      const msg = await flow.station.through({ where: flow.camera.name, when });
      assert.equal(clipIn(msg).from, when);
      assert.equal(clipIn(msg).seconds, 1);
    });

    it('gives live clips of so many seconds from the first picture on', async () => {
      const camera = { camera: flow.camera.id, cameraType: 'str' };
      await flow.deploy([getClip({ mode: 'live', ...camera, seconds: 2 })]);
      const before = Date.now();
      const { from, seconds, partial } = clipIn(await flow.station.through({}));
      assert.ok(Date.parse(from) > before - 5000, from);
      assert.ok(seconds >= 1.8 && seconds <= 2.2, `${seconds} s`);
      assert.equal(partial, false);
    });

    it('opens one RTSP session, and none is left', async () => {
      await flow.deploy([getClip({ preRoll: 0, seconds: 1 })]);
      assert.equal(await flow.openedBy(() => flow.station.through({ event: flow.event() })), 1);
      await flow.relayLeft();
    });

    it('shares its session with a picture of the same alarm', async function () {
      const nodes = [
        getClip({ preRoll: 0, seconds: 2 }),
        { ...caller('rvm-get-picture', { mode: 'event' }), id: 'picture', wires: [['result'], ['failed']] },
      ];
      await flow.deploy(nodes);
      const { nodeRed } = flow.station;
      const opened = await flow.openedBy(async () => {
        const mark = await flow.station.send({ event: flow.event() });
        const both = (): Message[] => nodeRed.at('result').filter((msg) => msg.mark === mark);
        await nodeRed.until(() => both().length === 2, 'the picture and the clip');
      });
      assert.equal(opened, 1);
    });

    it('opens nothing for a length that no clip has', async () => {
      for (const properties of [
        { seconds: 0 },
        { seconds: 301 },
        { seconds: 'long' },
        { preRoll: -1 },
        { untilEnd: true, maxSeconds: 0 },
        { untilEnd: true, maxSeconds: 3601 },
      ]) {
        await flow.deploy([getClip(properties)]);
        const opened = await flow.openedBy(async () => {
          assert.equal(
            await flow.station.code({ event: flow.event() }),
            'BAD_INPUT',
            JSON.stringify(properties),
          );
        });
        assert.equal(opened, 0, JSON.stringify(properties));
      }
    });

    it('says in its status how far it is, and nothing more once it is done', async () => {
      await flow.deploy([getClip({ preRoll: 0, seconds: 3 })]);
      await flow.station.through({ event: flow.event() });
      await flow.station.shows(/connected/);
      const shown = flow.station.statuses();
      assert.ok(shown.includes('status.openingVideo'), shown.join(', '));
      assert.ok(
        shown.some((text) => /\b1\b.*\b3\b/.test(text)),
        shown.join(', '),
      );
    });
  });
}
