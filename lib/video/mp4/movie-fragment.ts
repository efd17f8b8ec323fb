import { box, fullBox, i32, u32, u64 } from './boxes';

/** One sample of a fragment; times on the clock of its track. */
export interface FragmentSample {
  data: Buffer;
  duration: number;
  /** From its decoding until it is shown; below 0 where the order of decoding came as a surprise. */
  offset: number;
  key: boolean;
}

/** Samples of a track, each beginning where the one before ends. */
export interface TrackRun {
  track: number;
  /** When the first is decoded. */
  start: number;
  samples: readonly FragmentSample[];
}

/** Offsets count from the beginning of the fragment (ISO/IEC 14496-12, section 8.8.7). */
const FROM_FRAGMENT = 0x020000;
/** Each sample has its duration, size, flags and offset, and the run says where its data begin (section 8.8.8). */
const ALL_TOLD = 0xf01;
/** Flags of a sample (section 8.8.3.1): it depends on no other; it does, and decoding cannot begin here. */
const KEY = 0x02000000;
const NO_KEY = 0x01010000;
const HEAD = 8;

/** A piece of a fragmented MP4 that can be played by itself behind an initialisation, where it begins with a key frame. */
export function movieFragment(sequence: number, runs: readonly TrackRun[]): Buffer {
  // Once for its length, on which the offsets depend.
  const { length } = movieFragmentHead(sequence, runs, 0);
  const head = movieFragmentHead(sequence, runs, length + HEAD);
  return Buffer.concat([
    head,
    box('mdat', ...runs.flatMap(({ samples }) => samples.map(({ data }) => data))),
  ]);
}

function movieFragmentHead(sequence: number, runs: readonly TrackRun[], dataAt: number): Buffer {
  let at = dataAt;
  const tracks = runs.map((run) => {
    const track = trackFragment(run, at);
    at += run.samples.reduce((sum, { data }) => sum + data.length, 0);
    return track;
  });
  return box('moof', fullBox('mfhd', 0, 0, u32(sequence)), ...tracks);
}

function trackFragment({ track, start, samples }: TrackRun, dataAt: number): Buffer {
  const told = samples.map(({ data, duration, key, offset }) =>
    Buffer.concat([u32(duration, data.length, key ? KEY : NO_KEY), i32(offset)]),
  );
  return box(
    'traf',
    fullBox('tfhd', 0, FROM_FRAGMENT, u32(track)),
    fullBox('tfdt', 1, 0, u64(start)),
    // Version 1: offsets may be below 0.
    fullBox('trun', 1, ALL_TOLD, u32(samples.length, dataAt), ...told),
  );
}
