import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { ClipMemory } from '../../../lib/video/mp4/clip-memory';
import { ClipWriter, type ClipFacts } from '../../../lib/video/mp4/clip-writer';
import type { MediaFrame } from '../../../lib/video/media';
import { needs } from '../../support/suite/programs';
import {
  AAC,
  B_FRAMES,
  BASELINE,
  encodedVideo,
  H265,
  type EncodedVideo,
} from '../../support/video/encoded-stream';
import { decoded, probed } from '../../support/video/played-clip';

async function clipOf(frames: readonly MediaFrame[]): Promise<{ facts: ClipFacts; clip: Buffer }> {
  const memory = new ClipMemory();
  const writer = new ClipWriter(memory);
  for (const frame of frames) if (!(await writer.add(frame))) break;
  const facts = await writer.finish();
  return { facts, clip: memory.content };
}
describe('smoke', () => {
  for (const [name, w] of Object.entries({
    baseline: { encoder: BASELINE },
    bframes: { encoder: B_FRAMES, sound: AAC },
    h265: { encoder: H265 },
  }))
    it(name, async function () {
      const v = encodedVideo(w);
      const { facts, clip } = await clipOf(v.frames);
      console.log(facts, v.frames.length);
      console.log(JSON.stringify(probed(clip)));
      console.log(decoded(clip));
    });
});
