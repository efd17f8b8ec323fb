import assert from 'node:assert/strict';
import path from 'node:path';
import type { Row, Scale } from '../measurement';
import { sideBySide } from '../side-by-side';
import { ClipRecorder } from './clip-recorder';
import { cpuOfCopying } from './copied-by-ffmpeg';
import { makeRecording, RATE, removeRecording } from './recording';
import { RecordingRelay } from './recording-relay';

interface Size {
  /** Of a clip. */
  seconds: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { seconds: 10, rounds: 7 },
  quick: { seconds: 2, rounds: 1 },
};
const BITS_PER_SECOND = 1_000_000;
/** Seconds by which the recording is longer than a clip, for ffmpeg looks at some before it begins. */
const MORE = 5;

/**
 * V2: CPU time of a clip. Ours is that of a process in which the code runs already, as in Node-RED; what the first one takes, with
 * the code loaded for it, stands beside it. ffmpeg is started for each, as it has to be.
 */
export async function cpuOfClip(scale: Scale): Promise<Row[]> {
  const { seconds, rounds } = SIZES[scale];
  const file = makeRecording({ seconds: seconds + MORE, bitsPerSecond: BITS_PER_SECOND });
  const relay = await RecordingRelay.start(file);
  const recorder = new ClipRecorder();
  const url = `${relay.url}/camera`;
  const cpuOfOurs = async (): Promise<number> => {
    const { cpuMs, frames } = await recorder.record(url, seconds);
    // It ends by the clock, and begins when the first picture is there.
    assert.ok(frames >= (seconds - 0.5) * RATE, `${frames} pictures`);
    return cpuMs;
  };
  try {
    const first = await cpuOfOurs();
    const { ratio, ours, other } = await sideBySide(rounds, {
      ours: cpuOfOurs,
      other: () => cpuOfCopying(url, seconds, path.join(path.dirname(file), 'copy.mp4')),
    });
    return [
      {
        id: 'V2',
        measured: `a clip of ${seconds} s, 1280x720, 1 Mbit/s, into a file: CPU time`,
        against: 'ffmpeg -c copy of the same',
        figure: ratio,
        unit: 'x',
        target: { atMost: 1 },
        seen: { oursMs: ours.median, otherMs: other.median, firstMs: first },
      },
    ];
  } finally {
    await recorder.stop();
    await relay.stop();
    removeRecording(file);
  }
}
