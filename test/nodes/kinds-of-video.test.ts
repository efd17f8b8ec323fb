import assert from 'node:assert/strict';
import { bytesOf } from '../support/node-red/flows';
import {
  caller,
  isOnline,
  type Message,
  type SandboxCamera,
  barAt,
  clipIn,
  LONG_AGO,
  VideoFlow,
} from '../support/node-red/station-flow';
import { needs } from '../support/suite/programs';
import { numberIn } from '../support/video/encoded-video';
import { complaints, firstPicture } from '../support/video/played-clip';

/** Plain H.264; with a microphone; with B-frames; H.265; and one whose recordings come late. */
const KINDS = ['Gate', 'Loading Bay', 'Car Park', 'Fuel Store', 'South Fence'];
/** A time after that of the alarm whose picture is none that can be decoded by itself. */
const OFFSET = 1.5;

describe('video of each kind of camera', () => {
  let flow: VideoFlow;
  /** By the name of the camera. */
  const made = new Map<string, { picture: Message; clip: Message }>();

  before(async function () {
    needs(this, 'ffmpeg', 'ffprobe');
    flow = await VideoFlow.start('5');
    await flow.deploy([
      caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 2 }),
      { ...caller('rvm-get-picture', { mode: 'event', offsets: `${OFFSET}` }), id: 'picture' },
    ]);
    const online = (await flow.station.cameras()).filter(isOnline);
    const kinds = KINDS.map((kind) => online.find(({ name }) => name.startsWith(`SANDBOX ${kind}`)));
    await Promise.all(kinds.map((camera) => make(camera)));
  });
  after(() => flow?.stop());

  async function make(camera: SandboxCamera | undefined): Promise<void> {
    assert.ok(camera !== undefined);
    const kind = camera.name;
    const mark = await flow.station.send({ event: flow.event(LONG_AGO, camera) });
    const { nodeRed } = flow.station;
    const results = (): Message[] => nodeRed.at('result').filter((msg) => msg.mark === mark);
    await nodeRed.until(() => results().length === 2, `picture and clip of ${kind}`);
    const [picture, clip] = [(msg: Message) => 'pictures' in msg, (msg: Message) => 'clip' in msg].map((is) =>
      results().find(is),
    );
    assert.ok(picture && clip);
    made.set(kind, { picture, clip });
  }

  it('gives the picture of the moment', async () => {
    assert.equal(made.size, KINDS.length);
    for (const [kind, { picture }] of made)
      assert.equal(await numberIn(bytesOf(picture.payload)), barAt(LONG_AGO + OFFSET * 1000), kind);
  });

  it('gives clips that begin at the alarm, and play without a complaint', async () => {
    for (const [kind, { clip }] of made) {
      const bytes = bytesOf(clip.payload);
      assert.equal(complaints(bytes), '', kind);
      assert.equal(await numberIn(firstPicture(bytes)), barAt(LONG_AGO), kind);
      const { seconds, partial } = clipIn(clip);
      assert.ok(seconds > 1.8 && seconds < 2.3, `${kind}: ${seconds} s`);
      assert.equal(partial, false, kind);
    }
  });

  it('takes over H.264 of both profiles, H.265, and AAC where there is a microphone', () => {
    const codecs = [...made.values()].map(({ clip }) => clipIn(clip).codecs);
    for (const kind of [/^avc1\.42/, /^avc1\.4D/i, /^hvc1\./, /mp4a\.40\.2$/])
      assert.ok(
        codecs.some((each) => kind.test(each)),
        `${kind} in ${codecs.join('; ')}`,
      );
  });
});
