import fs from 'node:fs';
import path from 'node:path';
import { accessUnitsOf, boxIn, ended } from '../../rtp/foreign-streams';
import { run } from '../encoded-stream';

export interface BasePicture {
  /** Without start codes and parameter sets. */
  units: Buffer[];
  /** An I picture: decoding can begin here, or nearly so. */
  key: boolean;
  /** When it is shown, in ticks of 90 kHz. */
  ticks: number;
}

export interface BaseSound {
  encoding: 'AAC' | 'PCMU' | 'PCMA';
  /** Access units of AAC, or 20 ms of G.711. */
  units: Buffer[];
  clockRate: number;
  channels: number;
  /** Of a unit. */
  ticks: number;
}

/** Some seconds of one way of coding, in the order of decoding. */
export interface BaseStream {
  name: string;
  codec: 'h264' | 'h265';
  /** What decoding may begin with behind the first picture: I pictures that say so; that do not; or none, for it is refreshed piece by piece. */
  later: 'key pictures' | 'plain I pictures' | 'gradual refresh';
  /** VPS (H.265 alone), SPS, PPS. */
  sets: Buffer[];
  pictures: BasePicture[];
  /** Pictures in a second. */
  rate: number;
  sound: BaseSound | undefined;
}

const SECONDS = 5;
/** Of those that may be waited in for something better than what comes. */
const MANY_SECONDS = 8;

interface Kind {
  name: string;
  size: string;
  /** Pictures in a second, as a fraction. */
  rate: string;
  /** An encoder of ffmpeg with its options, or elements of GStreamer. */
  ffmpeg?: string;
  gstreamer?: string;
  codec?: BaseStream['codec'];
  sound?: Pick<BaseSound, 'encoding' | 'clockRate' | 'channels'>;
  later?: BaseStream['later'];
  /** Each so-many-th picture is one that decoding can begin with, though it does not say so. */
  plainEvery?: number;
}

const G711 = (encoding: 'PCMU' | 'PCMA'): Kind['sound'] => ({ encoding, clockRate: 8000, channels: 1 });
const AAC = (clockRate: number, channels: number): Kind['sound'] => ({
  encoding: 'AAC',
  clockRate,
  channels,
});
const X264 = 'libx264 -preset superfast -pix_fmt yuv420p';
/** I pictures that are no IDR: what says so is left out. */
const OPEN = '-bf 1 -b_strategy 0 -x264-params open-gop=1';
const X265 = 'libx265 -preset ultrafast -pix_fmt yuv420p -x265-params log-level=none:repeat-headers=0';

const KINDS: readonly Kind[] = [
  {
    name: 'H.264 baseline, GOP 10',
    size: '160x120',
    rate: '10',
    ffmpeg: `${X264} -profile:v baseline -g 10`,
  },
  {
    name: 'H.264 baseline, 4 slices, PCMU',
    size: '320x240',
    rate: '15',
    ffmpeg: `${X264} -profile:v baseline -g 30 -slices 4`,
    sound: G711('PCMU'),
  },
  {
    name: 'H.264 baseline, all intra',
    size: '160x96',
    rate: '5',
    ffmpeg: `${X264} -profile:v baseline -g 1`,
  },
  {
    name: 'H.264 main, B-frames, AAC 16 kHz',
    size: '320x180',
    rate: '25',
    ffmpeg: `${X264} -profile:v main -g 25 -bf 3 -b_strategy 0`,
    sound: AAC(16_000, 1),
  },
  {
    name: 'H.264 main, open GOP, AAC 44.1 kHz',
    size: '320x240',
    rate: '12',
    ffmpeg: `${X264} -profile:v main -g 12 -bf 2 -b_strategy 0 -x264-params open-gop=1`,
    sound: AAC(44_100, 2),
  },
  {
    name: 'H.264 main, interlaced, PCMA',
    size: '352x288',
    rate: '25',
    ffmpeg: `${X264} -profile:v main -g 25 -flags +ildct+ilme -x264-params tff=1`,
    sound: G711('PCMA'),
  },
  {
    name: 'H.264 high, pixels 16:11',
    size: '704x576',
    rate: '12',
    ffmpeg: `${X264} -profile:v high -g 24 -x264-params sar=16/11 -aud 1`,
  },
  {
    name: 'H.264 high, intra refresh',
    size: '240x160',
    rate: '20',
    ffmpeg: `${X264} -profile:v high -g 20 -intra-refresh 1`,
    later: 'gradual refresh',
  },
  {
    name: 'H.264 high, pyramid, AAC 48 kHz',
    size: '320x180',
    rate: '30',
    ffmpeg: `${X264} -profile:v high -g 60 -bf 3 -b_strategy 0 -b-pyramid normal -refs 4`,
    sound: AAC(48_000, 2),
  },
  { name: 'H.264 high, long GOP', size: '128x96', rate: '10', ffmpeg: `${X264} -profile:v high -g 40` },
  {
    name: 'H.264 high, cropped, 7.5 a second',
    size: '322x182',
    rate: '15/2',
    ffmpeg: `${X264} -profile:v high -g 15 -bf 0`,
    sound: G711('PCMU'),
  },
  {
    name: 'H.264 main, I pictures that are no IDR',
    size: '160x120',
    rate: '10',
    ffmpeg: `${X264} -profile:v main -g 10 -refs 1 ${OPEN}`,
    later: 'plain I pictures',
  },
  {
    name: 'H.264 main, I pictures that are no IDR, AAC',
    size: '320x180',
    rate: '15',
    ffmpeg: `${X264} -profile:v main -g 15 -refs 1 ${OPEN}`,
    later: 'plain I pictures',
    sound: AAC(16_000, 1),
  },
  { name: 'H.265 main, GOP 10', size: '160x120', rate: '10', ffmpeg: `${X265}:keyint=10:bframes=0` },
  {
    name: 'H.265 main, open GOP, AAC 16 kHz',
    size: '320x180',
    rate: '25',
    ffmpeg: `${X265}:keyint=25:bframes=3:b-adapt=0:open-gop=1`,
    sound: AAC(16_000, 1),
  },
  {
    name: 'H.265 main, closed GOP, PCMA',
    size: '320x240',
    rate: '15',
    ffmpeg: `${X265}:keyint=15:bframes=2:b-adapt=0:open-gop=0`,
    sound: G711('PCMA'),
  },
  { name: 'H.265 main, slices', size: '352x288', rate: '12', ffmpeg: `${X265}:keyint=24:bframes=0:slices=2` },
  {
    name: 'H.265 main 10',
    size: '320x180',
    rate: '12',
    ffmpeg: `${X265.replace('yuv420p', 'yuv420p10le')}:keyint=12:bframes=0`,
  },
  {
    name: 'H.265 main, long GOP, AAC 48 kHz',
    size: '352x288',
    rate: '20',
    ffmpeg: `${X265}:keyint=40:bframes=0:aud=1`,
    sound: AAC(48_000, 1),
  },
  {
    name: 'H.265 main, I pictures that are no IDR',
    size: '160x120',
    rate: '10',
    ffmpeg: `${X265}:keyint=250:min-keyint=125:scenecut=0:bframes=0:ref=1 -force_key_frames expr:gte(t,n_forced)`,
    plainEvery: 10,
    later: 'plain I pictures',
  },
  {
    name: 'GStreamer H.264, AAC 44.1 kHz',
    size: '320x240',
    rate: '15',
    codec: 'h264',
    gstreamer: 'x264enc speed-preset=superfast key-int-max=15 bframes=0',
    sound: AAC(44_100, 1),
  },
  {
    name: 'GStreamer H.264, B-frames',
    size: '352x288',
    rate: '20',
    codec: 'h264',
    gstreamer: 'x264enc speed-preset=superfast key-int-max=20 bframes=2',
  },
  {
    name: 'GStreamer H.264, intra refresh',
    size: '240x160',
    rate: '10',
    codec: 'h264',
    gstreamer: 'x264enc speed-preset=superfast key-int-max=10 intra-refresh=true bframes=0',
    later: 'gradual refresh',
  },
  {
    name: 'GStreamer H.264, OpenH264',
    size: '160x120',
    rate: '10',
    codec: 'h264',
    gstreamer: 'openh264enc gop-size=20',
  },
  {
    name: 'GStreamer H.265, AAC 32 kHz',
    size: '320x180',
    rate: '10',
    codec: 'h265',
    gstreamer: 'x265enc speed-preset=ultrafast key-int-max=10',
    sound: AAC(32_000, 1),
  },
];

/** Each way of coding, made anew in a folder. */
export async function baseStreams(folder: string): Promise<BaseStream[]> {
  const waiting = [...KINDS.entries()];
  const made: BaseStream[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [place, kind] = next;
      made[place] = await baseStream(kind, path.join(folder, `${place}`));
    }
  };
  await Promise.all([work(), work()]);
  return made;
}

async function baseStream(kind: Kind, file: string): Promise<BaseStream> {
  if (kind.gstreamer === undefined) await ended('ffmpeg', ffmpegArguments(kind, file));
  else await ended('gst-launch-1.0', gstreamerArguments(kind, kind.gstreamer, file));
  const { name, rate, later = 'key pictures', sound } = kind;
  const codec = kind.codec ?? (kind.ffmpeg?.startsWith('libx265') === true ? 'h265' : 'h264');
  const bytes = fs.readFileSync(`${file}.mp4`);
  const sets = codec === 'h264' ? avcSets(boxIn(bytes, 'avcC')) : hevcSets(boxIn(bytes, 'hvcC'));
  const [above = 1, below = 1] = rate.split('/').map(Number);
  const pictures = picturesOf(`${file}.mp4`, bytes, codec);
  for (const [place, picture] of pictures.entries()) {
    picture.key ||= kind.plainEvery !== undefined && place % kind.plainEvery === 0;
    if (later === 'plain I pictures') picture.units = picture.units.filter((unit) => !isHint(unit, codec));
  }
  return {
    name,
    codec,
    later,
    sets,
    pictures,
    rate: above / below,
    sound: sound && soundOf(sound, `${file}.aac`),
  };
}

function ffmpegArguments({ size, rate, ffmpeg = '', sound, later }: Kind, file: string): string[] {
  const inputs = ['-v', 'error', '-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=${rate}`];
  const encoder = ffmpeg.split(' ');
  const seconds = `${later === 'plain I pictures' ? MANY_SECONDS : SECONDS}`;
  const tag = encoder[0] === 'libx265' ? 'hvc1' : 'avc1';
  const video = ['-map', '0:v', '-t', seconds, '-c:v', ...encoder, '-tag:v', tag, `${file}.mp4`];
  if (sound?.encoding !== 'AAC') return [...inputs, ...video];
  const tone = ['-f', 'lavfi', '-i', `sine=frequency=440:sample_rate=${sound.clockRate}`];
  const coding = ['-map', '1:a', '-t', seconds, '-c:a', 'aac', '-ac', `${sound.channels}`, '-f', 'adts'];
  return [...inputs, ...tone, ...video, ...coding, `${file}.aac`];
}

function gstreamerArguments(
  { size, rate, codec = 'h264', sound }: Kind,
  encoder: string,
  file: string,
): string[] {
  const [width, height] = size.split('x');
  const source = `videotestsrc num-buffers=${SECONDS * Number(rate)} pattern=ball ! video/x-raw,format=I420,width=${width},height=${height},framerate=${rate}/1`;
  const video = `${source} ! ${encoder} ! ${codec}parse ! mp4mux ! filesink location=${file}.mp4`;
  if (sound === undefined) return ['-q', ...video.split(' ')];
  const { clockRate, channels } = sound;
  const tone = `audiotestsrc num-buffers=${Math.floor((SECONDS * clockRate) / 1024)} ! audio/x-raw,rate=${clockRate},channels=${channels}`;
  const coding = `${tone} ! voaacenc ! aacparse ! audio/mpeg,stream-format=adts ! filesink location=${file}.aac`;
  return ['-q', ...`${video} ${coding}`.split(' ')];
}

/** What stands in the record of an MP4 (ISO/IEC 14496-15, section 5.3.3.1). */
function avcSets(record: Buffer): Buffer[] {
  const sets: Buffer[] = [];
  let at = 5;
  for (const mask of [0x1f, 0xff]) {
    const count = record.readUInt8(at) & mask;
    at += 1;
    for (let taken = 0; taken < count; taken += 1) at = takeSet(record, at, sets);
  }
  return sets;
}

/** ISO/IEC 14496-15, section 8.3.3.1. */
function hevcSets(record: Buffer): Buffer[] {
  const sets: Buffer[] = [];
  let at = 23;
  for (let arrays = record.readUInt8(22); arrays > 0; arrays -= 1) {
    const isSet = [32, 33, 34].includes(record.readUInt8(at) & 0x3f);
    const kept: Buffer[] = [];
    const count = record.readUInt16BE(at + 1);
    at += 3;
    for (let taken = 0; taken < count; taken += 1) at = takeSet(record, at, kept);
    if (isSet) sets.push(...kept);
  }
  return sets;
}

function takeSet(record: Buffer, at: number, sets: Buffer[]): number {
  const end = at + 2 + record.readUInt16BE(at);
  sets.push(record.subarray(at + 2, end));
  return end;
}

function picturesOf(file: string, bytes: Buffer, codec: BaseStream['codec']): BasePicture[] {
  const show = [
    '-select_streams',
    'v',
    '-show_entries',
    'packet=pts_time,dts_time,pos,size,flags',
    '-of',
    'json',
  ];
  const { packets } = JSON.parse(run('ffprobe', ['-v', 'error', ...show, file])) as {
    packets: { pts_time: string; pos: string; size: string; flags: string }[];
  };
  return packets.map(({ pts_time: time, pos, size, flags }) => ({
    units: unitsOf(bytes.subarray(Number(pos), Number(pos) + Number(size))).filter(
      (unit) => !isSet(unit, codec),
    ),
    key: flags.startsWith('K'),
    ticks: Math.round(Number(time) * 90_000),
  }));
}

function unitsOf(sample: Buffer): Buffer[] {
  const units: Buffer[] = [];
  for (let at = 0; at < sample.length;) {
    const end = at + 4 + sample.readUInt32BE(at);
    units.push(sample.subarray(at + 4, end));
    at = end;
  }
  return units;
}

export function isSet(unit: Buffer, codec: BaseStream['codec']): boolean {
  const first = unit.readUInt8(0);
  return codec === 'h264' ? [7, 8].includes(first & 0x1f) : [32, 33, 34].includes((first >> 1) & 0x3f);
}

/** Supplemental information, recovery points among it. */
function isHint(unit: Buffer, codec: BaseStream['codec']): boolean {
  const first = unit.readUInt8(0);
  return codec === 'h264' ? (first & 0x1f) === 6 : [39, 40].includes((first >> 1) & 0x3f);
}

function soundOf(sound: NonNullable<Kind['sound']>, file: string): BaseSound {
  if (sound.encoding === 'AAC') return { ...sound, units: accessUnitsOf(file), ticks: 1024 };
  const units = Array.from({ length: SECONDS * 50 }, (_, place) => Buffer.alloc(160, place));
  return { ...sound, units, ticks: 160 };
}
