import path from 'node:path';
import { accessUnitsOf, ended } from '../../rtp/foreign-streams';
import { framesIn, pictures as picturesIn } from '../encoded-stream';

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

type Sound = Pick<BaseSound, 'encoding' | 'clockRate' | 'channels'>;

interface More {
  sound?: Sound;
  later?: BaseStream['later'];
  /** Each so-many-th picture is one that decoding can begin with, though it does not say so. */
  plainEvery?: number;
}

/** Size and pictures a second, such as `320x240@15/2`; the encoder is one of ffmpeg with its options, or one of GStreamer with its own. */
type Kind = [name: string, shape: string, encoder: string, more?: More];

const [PCMU, PCMA] = (['PCMU', 'PCMA'] as const).map((encoding): More => ({
  sound: { encoding, clockRate: 8000, channels: 1 },
}));
const AAC = (clockRate: number, channels: number): More => ({
  sound: { encoding: 'AAC', clockRate, channels },
});
const x264 = (profile: string, options: string): string =>
  `libx264 -preset superfast -pix_fmt yuv420p -profile:v ${profile} ${options}`;
const x265 = (parameters: string, pixels = 'yuv420p'): string =>
  `libx265 -preset ultrafast -pix_fmt ${pixels} -x265-params log-level=none:repeat-headers=0:${parameters}`;
const gstX264 = (options: string): string => `x264enc speed-preset=superfast ${options}`;
const [PLAIN, REFRESHED]: More[] = [{ later: 'plain I pictures' }, { later: 'gradual refresh' }];
/** I pictures that are no IDR: what says so is left out. */
const OPEN = '-refs 1 -bf 1 -b_strategy 0 -x264-params open-gop=1';
const FORCED = 'keyint=250:min-keyint=125:scenecut=0:bframes=0:ref=1 -force_key_frames expr:gte(t,n_forced)';

const OPEN_GROUPS = '-bf 2 -b_strategy 0 -x264-params open-gop=1';
const PYRAMID = '-bf 3 -b_strategy 0 -b-pyramid normal -refs 4';
const FIELDS = '-flags +ildct+ilme -x264-params tff=1';

const KINDS: readonly Kind[] = [
  ['H.264 baseline, GOP 10', '160x120@10', x264('baseline', '-g 10')],
  ['H.264 baseline, 4 slices, PCMU', '320x240@15', x264('baseline', '-g 30 -slices 4'), PCMU],
  ['H.264 baseline, all intra', '160x96@5', x264('baseline', '-g 1')],
  [
    'H.264 main, B-frames, AAC 16 kHz',
    '320x180@25',
    x264('main', '-g 25 -bf 3 -b_strategy 0'),
    AAC(16_000, 1),
  ],
  ['H.264 main, open GOP, AAC 44.1 kHz', '320x240@12', x264('main', `-g 12 ${OPEN_GROUPS}`), AAC(44_100, 2)],
  ['H.264 main, interlaced, PCMA', '352x288@25', x264('main', `-g 25 ${FIELDS}`), PCMA],
  ['H.264 high, pixels 16:11', '704x576@12', x264('high', '-g 24 -x264-params sar=16/11 -aud 1')],
  ['H.264 high, intra refresh', '240x160@20', x264('high', '-g 20 -intra-refresh 1'), REFRESHED],
  ['H.264 high, pyramid, AAC 48 kHz', '320x180@30', x264('high', `-g 60 ${PYRAMID}`), AAC(48_000, 2)],
  ['H.264 high, long GOP', '128x96@10', x264('high', '-g 40')],
  ['H.264 high, cropped, 7.5 a second', '322x182@15/2', x264('high', '-g 15 -bf 0'), PCMU],
  ['H.264 main, I pictures that are no IDR', '160x120@10', x264('main', `-g 10 ${OPEN}`), PLAIN],
  [
    'H.264 main, I pictures that are no IDR, AAC',
    '320x180@15',
    x264('main', `-g 15 ${OPEN}`),
    { ...PLAIN, ...AAC(16_000, 1) },
  ],
  ['H.265 main, GOP 10', '160x120@10', x265('keyint=10:bframes=0')],
  [
    'H.265 main, open GOP, AAC 16 kHz',
    '320x180@25',
    x265('keyint=25:bframes=3:b-adapt=0:open-gop=1'),
    AAC(16_000, 1),
  ],
  ['H.265 main, closed GOP, PCMA', '320x240@15', x265('keyint=15:bframes=2:b-adapt=0:open-gop=0'), PCMA],
  ['H.265 main, slices', '352x288@12', x265('keyint=24:bframes=0:slices=2')],
  ['H.265 main 10', '320x180@12', x265('keyint=12:bframes=0', 'yuv420p10le')],
  ['H.265 main, long GOP, AAC 48 kHz', '352x288@20', x265('keyint=40:bframes=0:aud=1'), AAC(48_000, 1)],
  ['H.265 main, I pictures that are no IDR', '160x120@10', x265(FORCED), { ...PLAIN, plainEvery: 10 }],
  ['GStreamer H.264, AAC 44.1 kHz', '320x240@15', gstX264('key-int-max=15 bframes=0'), AAC(44_100, 1)],
  ['GStreamer H.264, B-frames', '352x288@20', gstX264('key-int-max=20 bframes=2')],
  [
    'GStreamer H.264, intra refresh',
    '240x160@10',
    gstX264('key-int-max=10 intra-refresh=true bframes=0'),
    REFRESHED,
  ],
  ['GStreamer H.264, OpenH264', '160x120@10', 'openh264enc gop-size=20'],
  [
    'GStreamer H.265, AAC 32 kHz',
    '320x180@10',
    'x265enc speed-preset=ultrafast key-int-max=10',
    AAC(32_000, 1),
  ],
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
  const [name, shape, encoder, { sound, later = 'key pictures', plainEvery } = {}] = kind;
  const codec = encoder.includes('265') ? 'h265' : 'h264';
  if (encoder.startsWith('lib')) await ended('ffmpeg', ffmpegArguments(kind, file));
  else await ended('gst-launch-1.0', gstreamerArguments(kind, codec, file));
  const { video, frames } = framesIn(`${file}.mp4`);
  const [above = 1, below = 1] = (shape.split('@')[1] ?? '').split('/').map(Number);
  const isLeftOut = (unit: Buffer): boolean =>
    isSet(unit, codec) || (later === 'plain I pictures' && isHint(unit, codec));
  return {
    name,
    codec,
    later,
    sets: [...video.parameterSets],
    pictures: picturesIn(frames).map(({ nals, key, time }, place) => ({
      units: nals.filter((unit) => !isLeftOut(unit)),
      key: key || (plainEvery !== undefined && place % plainEvery === 0),
      ticks: Math.round(time * 90_000),
    })),
    rate: above / below,
    sound: sound && soundOf(sound, `${file}.aac`),
  };
}

function ffmpegArguments([, shape, options, { sound, later } = {}]: Kind, file: string): string[] {
  const [size, rate] = shape.split('@');
  const inputs = ['-v', 'error', '-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=${rate}`];
  const encoder = options.split(' ');
  const seconds = `${later === 'plain I pictures' ? MANY_SECONDS : SECONDS}`;
  const tag = encoder[0] === 'libx265' ? 'hvc1' : 'avc1';
  const video = ['-map', '0:v', '-t', seconds, '-c:v', ...encoder, '-tag:v', tag, `${file}.mp4`];
  if (sound?.encoding !== 'AAC') return [...inputs, ...video];
  const tone = ['-f', 'lavfi', '-i', `sine=frequency=440:sample_rate=${sound.clockRate}`];
  const coding = ['-map', '1:a', '-t', seconds, '-c:a', 'aac', '-ac', `${sound.channels}`, '-f', 'adts'];
  return [...inputs, ...tone, ...video, ...coding, `${file}.aac`];
}

function gstreamerArguments([, shape, encoder, { sound } = {}]: Kind, codec: string, file: string): string[] {
  const [width, height, rate] = shape.split(/[x@]/);
  const source = `videotestsrc num-buffers=${SECONDS * Number(rate)} pattern=ball ! video/x-raw,format=I420,width=${width},height=${height},framerate=${rate}/1`;
  const video = `${source} ! ${encoder} ! ${codec}parse ! mp4mux ! filesink location=${file}.mp4`;
  if (sound === undefined) return ['-q', ...video.split(' ')];
  const { clockRate, channels } = sound;
  const tone = `audiotestsrc num-buffers=${Math.floor((SECONDS * clockRate) / 1024)} ! audio/x-raw,rate=${clockRate},channels=${channels}`;
  const coding = `${tone} ! voaacenc ! aacparse ! audio/mpeg,stream-format=adts ! filesink location=${file}.aac`;
  return ['-q', ...`${video} ${coding}`.split(' ')];
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

function soundOf(sound: Sound, file: string): BaseSound {
  if (sound.encoding === 'AAC') return { ...sound, units: accessUnitsOf(file), ticks: 1024 };
  const units = Array.from({ length: SECONDS * 50 }, (_, place) => Buffer.alloc(160, place));
  return { ...sound, units, ticks: 160 };
}
