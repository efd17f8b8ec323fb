import type { Random } from './random';
import { aggregationPacket, stapA } from '../../../../scripts/fuzz/inputs/rtp';
import { byteStream } from '../../rtp/foreign-streams';
import { videoPayloads } from '../../../../sandbox/rtsp/media/packets';
import { goodReply } from '../../rtsp/scripted-relay';
import { isSet, type BaseStream } from './base-streams';
import type { Oddities } from './camera-stream';

/** A way in which cameras and relays of the field do otherwise than they should. */
export interface Damage {
  title: string;
  /** It counts when packets come: they are sent when a camera would. */
  isTimed?: boolean;
  /** ffmpeg waits for what never comes. */
  isBeyondFfmpeg?: boolean;
  fits?: (base: BaseStream) => boolean;
  on: (base: BaseStream, random: Random) => Oddities;
}

const START = Buffer.from([0, 0, 0, 1]);
/** Bytes of a packet on the connection at most: its length has 16 bits. */
const MOST = 60_000;
/** Bytes of a unit that shares a packet with its neighbours. */
const SMALL = 600;
const HOUR = 3600 * 90_000;
const DOLLAR = 0x24;

const hasAac = ({ sound }: BaseStream): boolean => sound?.encoding === 'AAC';
const hasSound = ({ sound }: BaseStream): boolean => sound !== undefined;
const hasOthers = ({ pictures }: BaseStream): boolean => pictures.some(({ key }) => !key);

/** The second picture that decoding can begin at. */
function secondKey({ pictures }: BaseStream): number {
  return pictures.findIndex(({ key }, place) => key && place > 0);
}

/** By title: what the camera does, and what else is said of that. */
type Damages = Record<string, Damage['on'] | Omit<Damage, 'title'>>;

const BYTE_STREAMS: Damages = {
  'each picture as one byte stream in a packet': ({ codec }) => ({
    payloads: (units) => {
      const whole = byteStream(units);
      return whole.length <= MOST ? [whole] : videoPayloads(codec, units);
    },
  }),
  'a start code before each unit': () => ({
    payloads: (units) => units.map((unit) => Buffer.concat([START, unit])),
  }),
  'sets and slices as one byte stream in fragments of the first': ({ codec }) => ({
    payloads: (units) => videoPayloads(codec, [byteStream(units).subarray(START.length)]),
  }),
  'start codes within aggregates': ({ codec }) => ({
    payloads: (units) => aggregated(codec, units, (unit) => Buffer.concat([START, unit])),
  }),
  'zeros behind the last unit of aggregates': ({ codec }, random) => ({
    payloads: (units) => aggregated(codec, units, (unit) => unit, Buffer.alloc(1 + random.below(8))),
  }),
};

const SETS: Damages = {
  'a sequence parameter set in band that is cut short': ({ codec }, random) => ({
    units: withShort((unit) => isSps(unit, codec), random),
  }),
  'all sets in band cut short': ({ codec }, random) => ({
    units: withShort((unit) => isSet(unit, codec), random),
  }),
  'sets that change their level at each key picture': {
    fits: hasOthers,
    on: ({ codec }) => {
      let keys = 0;
      return {
        units: (units, { isKey }) => {
          keys += isKey ? 1 : 0;
          return units.map((unit) => (keys % 2 === 0 ? withLevel(unit, codec) : unit));
        },
      };
    },
  },
  'sets in the description alone': ({ sets }) => ({
    units: (units, { isKey }) => (isKey ? units.slice(sets.length) : units),
  }),
  'sets in band alone': () => ({ description: changed(/(a=fmtp:96).*/, '$1 packetization-mode=1') }),
};

const CONNECTION: Damages = {
  'bytes between packets': (_base, random) => ({
    wire: every(15, random, (bytes) => Buffer.concat([bytes, noise(random, 1 + random.below(30), false)])),
  }),
  'bytes with dollar signs between packets': (_base, random) => ({
    wire: every(25, random, (bytes) => Buffer.concat([bytes, noise(random, 6 + random.below(30), true)])),
  }),
  'packets cut short': (_base, random) => ({
    wire: every(30, random, (bytes) => {
      const end = bytes.length - 1 - random.below(bytes.length);
      return bytes.subarray(0, Math.max(4, end));
    }),
  }),
  'the tails of packets without their heads': (_base, random) => ({
    wire: every(30, random, (bytes) => Buffer.concat([bytes, bytes.subarray(bytes.length >> 1)])),
  }),
  'a line end behind each packet': () => ({ wire: (bytes) => Buffer.concat([bytes, Buffer.from('\r\n')]) }),
};

const hasLaterKeys = (base: BaseStream): boolean => hasOthers(base) && base.later === 'key pictures';

const BEGINNINGS: Damages = {
  'I pictures that are no IDR, and no recovery point': {
    isTimed: true,
    fits: ({ later }) => later === 'plain I pictures',
    on: (base, random) => ({ from: 1 + random.below(secondKey(base)) }),
  },
  'a beginning at a key picture in the middle': {
    fits: hasLaterKeys,
    on: (base) => ({ from: secondKey(base) }),
  },
  'a beginning between key pictures': {
    fits: hasLaterKeys,
    on: (base) => ({ from: Math.floor(secondKey(base) / 2) }),
  },
};

const PADDING: Damages = {
  'padding of length 0': () => ({ packet: (packet) => padded(packet, Buffer.from([0, 0, 0, 0])) }),
  'padding that is longer than its packet': () => ({
    packet: (packet) => padded(packet, Buffer.from([0xff])),
  }),
};

/** Each of the lines of a good one. */
const ODD_DESCRIPTIONS: NonNullable<Oddities['description']>[] = [
  (lines) => lines.filter((_line, place) => place >= lines.findIndex((each) => each.startsWith('m='))),
  (lines) => `${lines.join('\n')}\n`,
  (lines) => `${lines.join('\r\n')}\r\n\0`,
  (lines) => [...lines, 'm=audio 0 RTP/AVP (null)', 'a=rtpmap', 'a=control:track9'],
  (lines) => [...lines, 'm=application/ACME 0 RTP/AVP smart/1/90000', 'a=control:track9'],
  changed(/^m=video 0 RTP\/AVP /, 'm=video 65536/2 RTP/AVP/TCP '),
  changed(/^(a=fmtp:96 .*)$/, '$1,;'),
];

const DESCRIPTIONS: Damages = {
  'a port below zero': () => ({ description: changed(/^m=video 0/, 'm=video -1002003004') }),
  'two blanks in the lines of the media': () => ({
    description: changed(/^(m=video|a=rtpmap:96|m=video 0 RTP\/AVP) /, '$1  '),
  }),
  'an odd description': (_base, random) => ({ description: random.pick(ODD_DESCRIPTIONS) }),
};

const ENDS: Damages = {
  'an end by clock= in the description, and by closing': (base) => ({
    closes: true,
    description: withRange(base, clockRange),
  }),
  'an end by clock= in the answer to PLAY, and by closing': (base) => ({
    closes: true,
    played: { Range: clockRange(secondsOf(base)) },
  }),
  'an end by npt= in the description, and by closing': (base) => ({
    closes: true,
    description: withRange(base, (seconds) => `npt=0-${seconds}`),
  }),
};

const timed = (on: Damage['on'], fits?: Damage['fits']): Omit<Damage, 'title'> => ({
  isTimed: true,
  ...(fits && { fits }),
  on,
});

const CLOCKS: Damages = {
  'a clock that stands still': timed(() => ({ ticks: () => 4711 })),
  'a clock in milliseconds': timed(() => ({
    ticks: (ticks) => 5_000_000 + Math.round((ticks - 2 ** 32) / 90),
  })),
  'a clock that steps back between key pictures': timed((base, random) =>
    steppingBack(base, 63_000 + random.below(100_000), 1),
  ),
  'a clock that steps back by seconds at a key picture': timed(
    (base) => steppingBack(base, 450_000, 0),
    hasOthers,
  ),
  'a clock that begins anew': timed((base) => ({
    ticks: (ticks, { number }) =>
      number > base.pictures.length / 2 ? ticks - 2 ** 32 + 1_000_000_000 : ticks,
  })),
  'pictures that are hours off': timed((_base, random) => ({
    ticks: (ticks, { number }) =>
      number % 20 === 15 ? ticks + (random.chance(0.5) ? 10 : -3) * HOUR : ticks,
  })),
  'rtptime=0 in RTP-Info': timed(() => ({ toldTime: () => 0 })),
  'reports of another year': (_base, random) => ({ clockOff: yearsOff(random) }),
};

const SOUNDS: Damages = {
  'packets of sound that are missing': {
    fits: hasAac,
    on: (_base, random) => {
      const lost = new Set(Array.from({ length: 400 }, (_, unit) => unit).filter(() => random.chance(0.2)));
      return { isHeard: (unit) => !lost.has(unit) };
    },
  },
  'sound that never comes': { fits: hasSound, on: () => ({ isHeard: () => false }) },
  'sound whose clock stands still': timed(() => ({ soundTicks: () => 0 }), hasAac),
  'reports that move the sound by a second': timed(
    (_base, random) => ({ clockOff: { video: 0, sound: random.pick([-1000, 1000]) } }),
    hasAac,
  ),
  'a second SETUP that is never answered': {
    isBeyondFfmpeg: true,
    fits: hasSound,
    on: () => ({
      answers: { SETUP: (request) => (request.url.includes('track2') ? undefined : goodReply(request)) },
    }),
  },
};

const PICTURES: Damages = {
  'two pictures with one time stamp, the marker at the second': (base) => ({
    ticks: (ticks, { number }) => (number % 6 === 5 ? ticks - gap(base, number) : ticks),
    isMarked: (isLast, { number }) => isLast && number % 6 !== 4,
  }),
  'each key picture twice in one time stamp': ({ codec }) => ({
    payloads: (units, { isKey }) => videoPayloads(codec, isKey ? [...units, ...units] : units),
  }),
  'no markers at all': () => ({ isMarked: () => false }),
  'a marker at every packet': () => ({ isMarked: () => true }),
};

export const DAMAGES: readonly Damage[] = Object.entries<Damages[string]>({
  ...BYTE_STREAMS,
  ...SETS,
  ...CONNECTION,
  ...BEGINNINGS,
  ...PADDING,
  ...DESCRIPTIONS,
  ...ENDS,
  ...CLOCKS,
  ...SOUNDS,
  ...PICTURES,
}).map(([title, damage]) => (typeof damage === 'function' ? { title, on: damage } : { title, ...damage }));

/** Small units together, the others as they should be. */
function aggregated(
  codec: BaseStream['codec'],
  units: readonly Buffer[],
  change: (unit: Buffer) => Buffer,
  behind = Buffer.alloc(0),
): Buffer[] {
  const payloads: Buffer[] = [];
  let small: Buffer[] = [];
  const put = (): void => {
    if (small.length === 0) return;
    const aggregate = codec === 'h264' ? stapA(small) : aggregationPacket(small);
    payloads.push(Buffer.concat([aggregate, behind]));
    small = [];
  };
  for (const unit of units) {
    if (unit.length < SMALL) small.push(change(unit));
    else {
      put();
      payloads.push(...videoPayloads(codec, [unit]));
    }
  }
  put();
  return payloads;
}

function typeOf(unit: Buffer, codec: BaseStream['codec']): number {
  return codec === 'h264' ? unit.readUInt8(0) & 0x1f : (unit.readUInt8(0) >> 1) & 0x3f;
}

function isSps(unit: Buffer, codec: BaseStream['codec']): boolean {
  return typeOf(unit, codec) === (codec === 'h264' ? 7 : 33);
}

/** In each picture, to half of their bytes at most. */
function withShort(isShort: (unit: Buffer) => boolean, random: Random): Oddities['units'] {
  const cut = (unit: Buffer): Buffer => unit.subarray(0, 3 + random.below(Math.max(1, unit.length / 2 - 3)));
  return (units) => units.map((unit) => (isShort(unit) ? cut(unit) : unit));
}

/** Without start codes; without dollar signs where they would be taken for heads. */
function noise(random: Random, length: number, withDollars: boolean): Buffer {
  const bytes = Buffer.from(Array.from({ length }, () => 1 + random.below(255)));
  if (withDollars) bytes[random.below(length)] = DOLLAR;
  else for (const [at, byte] of bytes.entries()) if (byte === DOLLAR) bytes[at] = 1;
  return bytes;
}

/** Another level in sets that have one: the pictures are coded as before. */
function withLevel(unit: Buffer, codec: BaseStream['codec']): Buffer {
  if (!isSps(unit, codec)) return unit;
  const plain = codec === 'h264' ? Buffer.from(unit) : unescaped(unit);
  // H.264: profile, constraints, level. H.265: 1 byte, then 11 of profile and tier (ITU-T H.265, section 7.3.3).
  const at = codec === 'h264' ? 3 : 14;
  plain[at] = plain.readUInt8(at) + (codec === 'h264' ? 1 : 3);
  return codec === 'h264' ? plain : escaped(plain);
}

function unescaped(unit: Buffer): Buffer {
  return Buffer.from(
    [...unit].filter((byte, at) => !(byte === 3 && unit[at - 1] === 0 && unit[at - 2] === 0)),
  );
}

function escaped(plain: Buffer): Buffer {
  const bytes: number[] = [];
  for (const byte of plain) {
    if (byte <= 3 && bytes.at(-1) === 0 && bytes.at(-2) === 0) bytes.push(3);
    bytes.push(byte);
  }
  return Buffer.from(bytes);
}

/** About each so-many-th packet, but none of the first: a stream that begins so is another matter. */
function every(count: number, random: Random, change: (bytes: Buffer) => Buffer): Oddities['wire'] {
  return (bytes, place) => (place > 10 && random.below(count) === 0 ? change(bytes) : bytes);
}

function padded(packet: Buffer, behind: Buffer): Buffer {
  const bytes = Buffer.concat([packet, behind]);
  bytes[0] = bytes.readUInt8(0) | 0x20;
  return bytes;
}

function changed(find: RegExp, by: string): (lines: readonly string[]) => string[] {
  return (lines) => lines.map((line) => line.replace(find, by));
}

function secondsOf({ pictures, rate }: BaseStream): number {
  return Math.round(pictures.length / rate);
}

function withRange(base: BaseStream, rangeOf: (seconds: number) => string): Oddities['description'] {
  const range = `a=range:${rangeOf(secondsOf(base))}`;
  return (lines) => lines.flatMap((line) => (line.startsWith('t=') ? [line, range] : [line]));
}

function clockRange(seconds: number): string {
  return `clock=20260301T100000Z-20260301T10000${seconds}Z`;
}

/** In the middle, so many pictures behind a key picture. */
function steppingBack({ pictures }: BaseStream, by: number, behind: number): Oddities {
  const middle = pictures.findLastIndex(({ key }, place) => key && place <= pictures.length * 0.6);
  return { ticks: (ticks, { number }) => (number >= middle + behind ? ticks - by : ticks) };
}

function yearsOff(random: Random): { video: number; sound: number } {
  const off = random.pick([-1, 1]) * (1 + random.below(20)) * 365 * 86_400_000;
  return { video: off, sound: off };
}

/** Ticks from the picture before. */
function gap({ pictures }: BaseStream, number: number): number {
  return (pictures[number]?.ticks ?? 0) - (pictures[number - 1]?.ticks ?? 0);
}
