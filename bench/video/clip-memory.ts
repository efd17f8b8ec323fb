import type { Row, Scale } from '../measurement';
import { spreadOf } from '../side-by-side';
import { ClipRecorder } from './clip-recorder';
import { makeRecording, removeRecording } from './recording';
import { RecordingRelay } from './recording-relay';

interface Size {
  /** Of a clip. */
  seconds: number;
  /** Processes that record one. */
  processes: number;
  /** How often as fast as it was recorded. */
  speed: number;
}
const SIZES: Record<Scale, Size> = {
  full: { seconds: 60, processes: 3, speed: 1 },
  quick: { seconds: 60, processes: 1, speed: 10 },
};
const BITS_PER_SECOND = 4_000_000;
/** Seconds of the clip before, with which the code is loaded. */
const FIRST = 2;
/** Seconds by which the recording is longer than a clip. */
const MORE = 2;

/** V5: the most memory that a process has while it records a clip into a file, above what it had before, and has recorded one. */
export async function memoryOfClip(scale: Scale): Promise<Row[]> {
  const { seconds, processes, speed } = SIZES[scale];
  const file = makeRecording({ seconds: seconds + MORE, bitsPerSecond: BITS_PER_SECOND });
  const relay = await RecordingRelay.start(file, speed);
  const [more, first, idle]: [number[], number[], number[]] = [[], [], []];
  try {
    for (let process = 0; process < processes; process += 1) {
      const recorder = new ClipRecorder();
      const before = await recorder.record(relay.url, FIRST);
      const clip = await recorder.record(relay.url, seconds);
      await recorder.stop();
      first.push((before.peak - before.idle) / 1e6);
      more.push((clip.peak - clip.idle) / 1e6);
      idle.push(clip.idle / 1e6);
    }
    return [
      {
        id: 'V5',
        measured: `a clip of ${seconds} s, 4 Mbit/s, into a file, after a first one: more memory (RSS), at its peak`,
        against: 'the same process before it',
        figure: spreadOf(more),
        unit: 'MB',
        target: { atMost: 16 },
        seen: { idleMB: spreadOf(idle).median, firstClipMB: spreadOf(first).median },
      },
    ];
  } finally {
    await relay.stop();
    removeRecording(file);
  }
}
