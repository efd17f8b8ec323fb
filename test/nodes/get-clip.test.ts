import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { bytesOf } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';
import {
  barAt,
  caller,
  clipIn,
  describeWith,
  VideoFlow,
  LONG_AGO,
  type Message,
} from '../support/node-red/station-flow';
import { complaints, firstPicture, probed, topBoxes } from '../support/video/played-clip';
import { numberIn } from '../support/video/encoded-video';

function getClip(properties: Message = {}): FlowNode {
  return caller('rvm-get-clip', { mode: 'event', preRoll: 1, seconds: 2, ...properties });
}

describeWith(VideoFlow, 'get clip', { programs: ['ffmpeg', 'ffprobe'] }, (flow) => {
  it('gives the alarm as an MP4 that plays while it loads, and says what it is', async () => {
    const msg = await flow.ask(getClip(), { event: flow.event(), topic: 'mine', headers: { cookie: 'x' } });
    const bytes = bytesOf(msg.payload);
    const clip = clipIn(msg);
    assert.deepEqual(topBoxes(bytes), ['ftyp', 'moov', 'mdat']);
    assert.equal(complaints(bytes), '');
    const { streams, format } = probed(bytes);
    const [video] = streams;
    const from = new Date(LONG_AGO - 1000).toISOString();
    assert.deepEqual(
      { ...clip, seconds: clip.seconds.toFixed(2), to: Date.parse(clip.to) },
      {
        cameraId: flow.camera.id,
        from,
        to: Date.parse(from) + clip.seconds * 1000 - 3000 / clip.frames,
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
    const stamp = from.replaceAll(/[-:]|\.\d+/g, '');
    assert.equal(msg.filename, `${flow.camera.name.replaceAll(' ', '-')}-${stamp}.mp4`);
  });

  it('gives clips of a camera and a time of choice', async () => {
    const where = { camera: 'where', cameraType: 'msg', time: 'when', timeType: 'msg' };
    const when = new Date(LONG_AGO + 5000).toISOString();
    const node = getClip({ mode: 'recorded', ...where, preRoll: 0, seconds: 1 });
    const { from, seconds } = clipIn(await flow.ask(node, { where: flow.camera.name, when }));
    assert.deepEqual([from, seconds], [when, 1]);
  });

  it('gives live clips of so many seconds from the first picture on', async () => {
    const before = Date.now();
    const node = getClip({ mode: 'live', camera: flow.camera.id, cameraType: 'str', seconds: 2 });
    const { from, seconds, partial } = clipIn(await flow.ask(node, {}));
    assert.ok(Date.parse(from) > before - 5000, from);
    assert.ok(seconds >= 1.8 && seconds <= 2.2, `${seconds} s`);
    assert.equal(partial, false);
  });

  it('opens one RTSP session, and none is left; its status says how far it is, and nothing more once it is done', async () => {
    const node = getClip({ preRoll: 0, seconds: 3 });
    assert.equal(await flow.openedBy(() => flow.ask(node)), 1);
    await flow.relayLeft();
    await flow.station.shows(/connected/);
    const shown = flow.station.statuses();
    assert.ok(shown.includes('status.openingVideo'), shown.join(', '));
    assert.ok(
      shown.some((text) => /\b1\b.*\b3\b/.test(text)),
      shown.join(', '),
    );
  });

  it('shares its session with a picture of the same alarm', async () => {
    const picture = caller('rvm-get-picture', { mode: 'event', id: 'picture' });
    await flow.deploy([getClip({ preRoll: 0 }), picture]);
    const { nodeRed } = flow.station;
    const opened = await flow.openedBy(async () => {
      const mark = await flow.station.send({ event: flow.event() });
      const both = (): Message[] => nodeRed.at('result').filter((msg) => msg.mark === mark);
      await nodeRed.until(() => both().length === 2, 'the picture and the clip');
    });
    assert.equal(opened, 1);
  });

  for (const properties of [
    { seconds: 0 },
    { seconds: 301 },
    { seconds: 'long' },
    { preRoll: -1 },
    { untilEnd: true, maxSeconds: 0 },
    { untilEnd: true, maxSeconds: 3601 },
  ])
    it(`opens nothing for a length that no clip has: ${JSON.stringify(properties)}`, async () =>
      assert.equal((await flow.refusal(getClip(properties))).code, 'BAD_INPUT'));
});
