import assert from 'node:assert/strict';
import { bytesOf } from '../support/node-red/flows';
import {
  barAt,
  caller,
  clipIn,
  describeWith,
  VideoFlow,
  isOnline,
  LONG_AGO,
  type Message,
} from '../support/node-red/station-flow';
import { numberIn } from '../support/video/encoded-video';
import { complaints, firstPicture } from '../support/video/played-clip';

/** Of cameras: plain H.264; with a microphone; with B-frames; H.265; and one whose recordings come late. */
const KINDS = {
  Gate: /^avc1\.42/,
  'Loading Bay': /mp4a\.40\.2$/,
  'Car Park': /^avc1\.4D/i,
  'Fuel Store': /^hvc1\./,
  'South Fence': /./,
};
/** A time after that of the alarm whose picture is none that can be decoded by itself. */
const OFFSET = 1.5;

describeWith(
  VideoFlow,
  'video of each kind of camera',
  { versions: ['5'], programs: ['ffmpeg', 'ffprobe'] },
  (flow) => {
    before(() =>
      flow.deploy([
        caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 2 }),
        caller('rvm-get-picture', { mode: 'event', offsets: `${OFFSET}`, id: 'picture' }),
      ]),
    );

    for (const [kind, codecs] of Object.entries(KINDS))
      it(`is the picture of the moment, and a clip from the alarm on that plays without a complaint: ${kind}`, async () => {
        const camera = await flow.station.camera(
          (each) => isOnline(each) && each.name.startsWith(`SANDBOX ${kind}`),
        );
        const mark = await flow.station.send({ event: flow.event(LONG_AGO, camera) });
        const { nodeRed } = flow.station;
        const results = (): Message[] => nodeRed.at('result').filter((msg) => msg.mark === mark);
        await nodeRed.until(() => results().length === 2, 'picture and clip');
        const picture = results().find((msg) => 'pictures' in msg) ?? assert.fail();
        assert.equal(await numberIn(bytesOf(picture.payload)), barAt(LONG_AGO + OFFSET * 1000));
        const clip = results().find((msg) => 'clip' in msg) ?? assert.fail();
        const bytes = bytesOf(clip.payload);
        assert.equal(complaints(bytes), '');
        assert.equal(await numberIn(firstPicture(bytes)), barAt(LONG_AGO));
        const facts = clipIn(clip);
        assert.ok(facts.seconds > 1.8 && facts.seconds < 2.3, `${facts.seconds} s`);
        assert.equal(facts.partial, false);
        assert.match(facts.codecs, codecs);
      });
  },
);
