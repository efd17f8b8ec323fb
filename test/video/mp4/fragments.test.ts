import { FragmentWriter } from '../../../lib/video/mp4/fragments';
import { AAC, B_FRAMES, BASELINE, encodedVideo, H265 } from '../../support/video/encoded-video';
import { complaints, decoded, probed } from '../../support/video/played-clip';
describe('smoke', () => {
  for (const [name, w] of Object.entries({ baseline: { encoder: BASELINE }, bframes: { encoder: B_FRAMES, sound: AAC }, h265: { encoder: H265 } }))
    it(name, async function () {
      const v = encodedVideo(w);
      const writer = new FragmentWriter(v.audio);
      const clip = Buffer.concat([...v.frames.flatMap((f) => writer.add(f)), ...writer.end()]);
      console.log(writer.mimeType, clip.length);
      const p = probed(clip);
      console.log(p.streams.map((s) => [s.codec_name, s.codec_tag_string, s.start_time, s.duration]), p.format.duration);
      console.log(p.packets.filter((x) => x.codec_type === 'video').slice(0, 12).map((x) => [x.dts_time, x.pts_time, x.duration_time, x.flags].join(' ')));
      console.log(decoded(clip).length, complaints(clip));
    });
});
