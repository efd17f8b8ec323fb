import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { bytesOf } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';
import {
  barAt,
  caller,
  clipIn,
  describeWith,
  VideoFlow,
  isOnline,
  LONG_AGO,
  type Message,
  type SandboxCamera,
} from '../support/node-red/station-flow';
import { slowIt } from '../support/suite/lanes';
import { cannotRun } from '../support/suite/programs';
import { eventually } from '../support/time/patience';
import { complaints, firstPicture, probed, topBoxes } from '../support/video/played-clip';
import { numberIn } from '../support/video/encoded-video';

const getClip = (properties: Message = {}): FlowNode =>
  caller('rvm-get-clip', { mode: 'event', preRoll: 1, seconds: 2, ...properties });

const getPicture = (properties: Message = {}): FlowNode =>
  caller('rvm-get-picture', { mode: 'event', id: 'picture', ...properties });

/** Cameras of the sandbox: plain H.264; with a microphone; with B-frames; H.265; and one whose recordings come late. */
const KINDS = {
  Gate: /^avc1\.42/,
  'Loading Bay': /mp4a\.40\.2$/,
  'Car Park': /^avc1\.4D/i,
  'Fuel Store': /^hvc1\./,
  'South Fence': /./,
};
/** A time after that of the alarm whose picture is none that can be decoded by itself. */
const OFFSET = 1.5;

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
    const to = Date.parse(from) + clip.seconds * 1000 - 3000 / clip.frames;
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const { width, height } = video ?? {};
    const shown = { codecs: clip.codecs, width, height, frames: Number(video?.nb_frames) };
    const seconds = Number(format.duration).toFixed(2);
    assert.deepEqual(
      { ...clip, seconds: clip.seconds.toFixed(2), to: Date.parse(clip.to) },
      { cameraId: flow.camera.id, from, to, seconds, bytes: bytes.length, sha256, ...shown, partial: false },
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

  /** What comes of one event at two nodes that are deployed. */
  async function pictureAndClip(event: Message): Promise<{ picture: Message; clip: Message }> {
    const mark = await flow.station.send({ event });
    const { nodeRed } = flow.station;
    const both = (): Message[] => nodeRed.at('result').filter((msg) => msg.mark === mark);
    await nodeRed.until(() => both().length === 2, 'the picture and the clip');
    const picture = both().find((msg) => 'pictures' in msg) ?? assert.fail();
    return { picture, clip: both().find((msg) => 'clip' in msg) ?? assert.fail() };
  }

  it('shares its session with a picture of the same alarm', async () => {
    await flow.deploy([getClip({ preRoll: 0 }), getPicture()]);
    assert.equal(await flow.openedBy(() => pictureAndClip(flow.event())), 1);
  });

  for (const [kind, codecs] of Object.entries(KINDS))
    slowIt(
      `plays from the alarm on without a complaint, and a picture is that of the moment, of a ${kind}`,
      async () => {
        await flow.deploy([getClip({ preRoll: 0 }), getPicture({ offsets: `${OFFSET}` })]);
        const isOne = (each: SandboxCamera): boolean => each.name.startsWith(`SANDBOX ${kind}`);
        const camera = await flow.station.camera((each) => isOnline(each) && isOne(each));
        const { picture, clip } = await pictureAndClip(flow.event(LONG_AGO, camera));
        assert.equal(await numberIn(bytesOf(picture.payload)), barAt(LONG_AGO + OFFSET * 1000));
        const bytes = bytesOf(clip.payload);
        assert.equal(complaints(bytes), '');
        assert.equal(await numberIn(firstPicture(bytes)), barAt(LONG_AGO));
        const facts = clipIn(clip);
        assert.ok(facts.seconds > 1.8 && facts.seconds < 2.3, `${facts.seconds} s`);
        assert.equal(facts.partial, false);
        assert.match(facts.codecs, codecs);
      },
    );

  for (const properties of [
    ...[0, 301, 'long'].map((seconds) => ({ seconds })),
    ...[0, 3601].map((maxSeconds) => ({ untilEnd: true, maxSeconds })),
    { preRoll: -1 },
  ])
    it(`opens nothing for a length that no clip has: ${JSON.stringify(properties)}`, async () =>
      assert.equal((await flow.refusal(getClip(properties))).code, 'BAD_INPUT'));

  describe('with a folder', () => {
    let folder: string;
    beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-clips-'))));
    afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

    const intoFolder = (properties: Message = {}): FlowNode =>
      getClip({ preRoll: 0, seconds: 1, folder, ...properties });
    const files = (): string[] => fs.readdirSync(folder).sort();

    slowIt('gives the path of a file in it, that is whole, and for this user alone', async () => {
      const msg = await flow.ask(intoFolder());
      const file = String(msg.payload);
      assert.equal(path.dirname(file), fs.realpathSync(folder));
      assert.deepEqual(files(), [path.basename(file)]);
      const content = fs.readFileSync(file);
      const sha256 = createHash('sha256').update(content).digest('hex');
      assert.partialDeepStrictEqual(clipIn(msg), { bytes: content.length, sha256 });
      assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    });

    slowIt('names the file by time, camera and alarm, whatever these are', async () => {
      const event = { ...flow.event(), alarmId: '../../etc/passwd' };
      const name = path.basename(String((await flow.ask(intoFolder(), { event })).payload));
      const stamp = new Date(LONG_AGO).toISOString().replaceAll(/[-:]|\.\d+/g, '');
      const begin = `clip-${stamp}-${flow.camera.id.slice(0, 32)}`;
      assert.match(name, new RegExp(`^${begin}.*_etc_passwd-[0-9a-f]{8}\\.mp4$`));
      assert.equal(files().length, 1);
    });

    slowIt('takes a folder in the user directory of Node-RED, where it is no whole path', async () => {
      const clips = path.join(flow.station.nodeRed.userDir, 'clips');
      fs.mkdirSync(clips);
      const { payload } = await flow.ask(intoFolder({ folder: 'clips' }));
      assert.equal(path.dirname(String(payload)), fs.realpathSync(clips));
    });

    for (const [what, bad] of [
      ['does not exist', 'none'],
      ['is a file', 'file'],
      ['begins with ~', '~/clips'],
    ] as const)
      slowIt(`opens nothing where the folder ${what}`, async () => {
        fs.writeFileSync(path.join(folder, 'file'), '');
        const named = bad.startsWith('~') ? bad : path.join(folder, bad);
        const { code, message } = await flow.refusal(intoFolder({ folder: named }));
        assert.equal(code, 'BAD_INPUT');
        assert.match(message, /folder/);
        assert.deepEqual(files(), ['file']);
      });

    slowIt('opens nothing for days that are none', () => flow.refusal(intoFolder({ keepDays: -1 })));

    slowIt('removes its clips that are too old, and nothing else', async () => {
      const old = new Date(Date.now() - 3 * 86_400_000);
      for (const name of ['clip-20250101T000000Z-gate-0a1b2c3d.mp4', 'holiday.mp4']) {
        fs.writeFileSync(path.join(folder, name), '');
        fs.utimesSync(path.join(folder, name), old, old);
      }
      const { payload } = await flow.ask(intoFolder({ keepDays: 2 }));
      const left = ['holiday.mp4', path.basename(String(payload))].sort();
      await eventually(() => files().join() === left.join(), 'the end of what is old');
    });

    slowIt('leaves nothing of a clip that a deploy ends', async () => {
      await flow.deploy([intoFolder({ seconds: 300 })]);
      await flow.station.send({ event: flow.event() });
      await eventually(() => files().length > 0, 'the beginning of a clip');
      await flow.deploy([]);
      await eventually(() => files().length === 0, 'the end of it');
    });

    slowIt('says that the disk is full, and leaves no half clip', async function () {
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'pipe' });
      } catch {
        cannotRun(this, 'a small disk cannot be mounted');
      }
      try {
        await flow.deploy([intoFolder({ seconds: 20 })]);
        const { code, message } = await flow.station.failure({ event: flow.event() });
        assert.equal(code, 'STORE_FAILED');
        assert.match(message, /full/);
        assert.deepEqual(files(), []);
        await flow.relayLeft();
      } finally {
        execFileSync('umount', [folder]);
      }
    });
  });
});
