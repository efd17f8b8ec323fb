import { rtpPacket } from '../../../../scripts/fuzz/inputs/rtp';
import { videoPayloads, compoundBye, senderReport } from '../../../../sandbox/rtsp/media/packets';
import { goodReply, interleaved, reply, sdp, type Script } from '../../rtsp/scripted-relay';
import type { BaseSound, BaseStream } from './base-streams';

/** What a camera does otherwise than a good one. All that is left out is as it should be. */
export interface Oddities {
  /** Of the first of the pictures that it sends. */
  from?: number;
  /** The units of a picture, in band sets included. */
  units?: (units: readonly Buffer[], picture: Place) => readonly Buffer[];
  /** Payloads of packets. */
  payloads?: (units: readonly Buffer[], picture: Place) => readonly Buffer[];
  isMarked?: (isLast: boolean, picture: Place) => boolean;
  /** RTP time by that of a good camera. */
  ticks?: (ticks: number, picture: Place) => number;
  soundTicks?: (ticks: number) => number;
  /** A whole RTP packet of the pictures. */
  packet?: (packet: Buffer) => Buffer;
  /** Units of sound that are sent; the others are missing. */
  isHeard?: (unit: number) => boolean;
  /** What stands on the connection, for a packet with its head. @param count of packets before */
  wire?: (bytes: Buffer, count: number) => Buffer;
  /** Lines of the session, then of its media. */
  description?: (lines: readonly string[]) => readonly string[] | string;
  answers?: Script;
  /** Headers of the answer to PLAY. */
  played?: Record<string, string>;
  /** RTP time in `RTP-Info`, by that of the first picture. */
  toldTime?: (ticks: number) => number;
  /** Milliseconds by which the clock of reports is wrong. */
  clockOff?: { video: number; sound: number };
  /** It closes, and says no good-bye. */
  closes?: boolean;
}

export interface Place {
  number: number;
  isKey: boolean;
}

/** Bytes that are due at a millisecond of the stream. */
export interface Due {
  at: number;
  bytes: Buffer;
}

export interface CameraStream {
  due: Due[];
  script: Script;
  closes: boolean;
}

const [VIDEO, SOUND] = [0x5eed0001, 0x5eed0002];
const SOUND_TYPES = { PCMU: 0, PCMA: 8, AAC: 97 } as const;
/** Where both stand in a packet (RFC 3550, section 5.1). */
const [RTP_TIME, SSRC] = [4, 8];
const FIRST_SEQUENCE = 65_500;
/** So that the time stamps of nearly all wrap under way. */
const FIRST_TICKS = 2 ** 32 - 90_000;
/** Sampling frequencies by their index (ISO/IEC 14496-3, table 1.18). */
const AAC_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000,
];

/** Milliseconds at the end in which nothing stands between packets: a good-bye that is swallowed is none. */
const CALM = 500;

/** All that a camera with these oddities sends of a stream. */
export function cameraStream(base: BaseStream, oddities: Oddities): CameraStream {
  const pictures = packetsOfPictures(base, oddities);
  const sounds = base.sound === undefined ? [] : packetsOfSound(base.sound, oddities);
  const packets = [...pictures, ...sounds].sort((a, b) => a.at - b.at);
  const end = packets.at(-1)?.at ?? 0;
  const due = packets.map(({ at, channel, packet }, count) => {
    const bytes = interleaved(channel, packet);
    return { at, bytes: (at < end - CALM ? oddities.wire?.(bytes, count) : undefined) ?? bytes };
  });
  const { video = 0, sound = 0 } = oddities.clockOff ?? {};
  const now = Date.now();
  const reports = [...reported(1, pictures, now + video), ...reported(3, sounds, now + sound)];
  const good = [...goodBye(1, pictures, now + video), ...goodBye(3, sounds, now + sound)];
  const byes = oddities.closes === true ? [] : good;
  const [first] = pictures;
  return {
    due: [{ at: 0, bytes: Buffer.concat(reports) }, ...due, { at: end, bytes: Buffer.concat(byes) }],
    script: scriptOf(base, oddities, first?.packet.readUInt32BE(RTP_TIME) ?? 0),
    closes: oddities.closes === true,
  };
}

/** An RTP packet, and when it is sent. */
interface Sent {
  at: number;
  channel: number;
  packet: Buffer;
}

function packetsOfPictures(base: BaseStream, oddities: Oddities): Sent[] {
  const { from = 0 } = oddities;
  const origin = base.pictures[from]?.ticks ?? 0;
  let sequence = FIRST_SEQUENCE;
  return base.pictures.slice(from).flatMap(({ units: own, key, ticks }, behind) => {
    const place = { number: from + behind, isKey: key };
    const all = key ? [...base.sets, ...own] : own;
    const units = oddities.units?.(all, place) ?? all;
    const payloads = oddities.payloads?.(units, place) ?? videoPayloads(base.codec, units);
    const good = FIRST_TICKS + ticks - origin;
    const rtpTime = (oddities.ticks?.(good, place) ?? good) >>> 0;
    return payloads.map((payload, count) => {
      const isLast = count === payloads.length - 1;
      const marker = oddities.isMarked?.(isLast, place) ?? isLast;
      const packet = rtpPacket(payload, { sequence, rtpTime, ssrc: VIDEO, marker });
      sequence += 1;
      return { at: (behind * 1000) / base.rate, channel: 0, packet: oddities.packet?.(packet) ?? packet };
    });
  });
}

function packetsOfSound(sound: BaseSound, oddities: Oddities): Sent[] {
  return sound.units.flatMap((unit, number) => {
    if (oddities.isHeard?.(number) === false) return [];
    const good = number * sound.ticks;
    const rtpTime = oddities.soundTicks?.(good) ?? good;
    const payloadType = SOUND_TYPES[sound.encoding];
    const payload = sound.encoding === 'AAC' ? Buffer.concat([accessUnitHead(unit), unit]) : unit;
    const packet = rtpPacket(payload, { sequence: number, rtpTime, ssrc: SOUND, payloadType, marker: true });
    return [{ at: (good * 1000) / sound.clockRate, channel: 2, packet }];
  });
}

/** A report of the first packet. @param wallClock of the beginning of the stream */
function reported(channel: number, [first]: readonly Sent[], wallClock: number): Buffer[] {
  return first === undefined ? [] : [interleaved(channel, senderReport(sender(first, wallClock)))];
}

function goodBye(channel: number, packets: readonly Sent[], wallClock: number): Buffer[] {
  const last = packets.at(-1);
  return last === undefined ? [] : [interleaved(channel, compoundBye(sender(last, wallClock)))];
}

function sender({ at, packet }: Sent, begun: number): Parameters<typeof senderReport>[0] {
  const [timestamp, ssrc] = [packet.readUInt32BE(RTP_TIME), packet.readUInt32BE(SSRC)];
  return { ssrc, wallClock: begun + at, timestamp, packets: 0, octets: 0 };
}

/** RFC 3640, section 3.3.6. */
function accessUnitHead(unit: Buffer): Buffer {
  const head = Buffer.from([0, 16, 0, 0]);
  head.writeUInt16BE(unit.length << 3, 2);
  return head;
}

function scriptOf(base: BaseStream, oddities: Oddities, firstTicks: number): Script {
  const [...lines] = linesOf(base);
  const odd = oddities.description?.(lines) ?? lines;
  const body = typeof odd === 'string' ? odd : [...odd, ''].join('\r\n');
  const told = (oddities.toldTime?.(firstTicks) ?? firstTicks) >>> 0;
  return {
    DESCRIBE: (request) => reply(request, 200, { 'Content-Type': 'application/sdp' }, body),
    PLAY: (request) => {
      const url = request.url.replace(/\/$/, '');
      const tracks = [`url=${url}/track1;seq=${FIRST_SEQUENCE};rtptime=${told}`];
      if (base.sound !== undefined) tracks.push(`url=${url}/track2;seq=0;rtptime=0`);
      return reply(request, 200, { Session: 'session-1', 'RTP-Info': tracks.join(','), ...oddities.played });
    },
    SETUP: goodReply,
    ...oddities.answers,
  };
}

function linesOf({ codec, sets, sound }: BaseStream): string[] {
  const [name, ...told] = sets.map((set) => set.toString('base64'));
  const video = ['m=video 0 RTP/AVP 96', `a=rtpmap:96 ${codec === 'h264' ? 'H264' : 'H265'}/90000`];
  if (codec === 'h264')
    video.push(`a=fmtp:96 packetization-mode=1;sprop-parameter-sets=${[name, ...told].join(',')}`);
  else video.push(`a=fmtp:96 sprop-vps=${name};sprop-sps=${told[0]};sprop-pps=${told[1]}`);
  const media = [[...video, 'a=control:track1'], ...(sound === undefined ? [] : [soundLines(sound)])];
  const lines = sdp(...media);
  return lines.trimEnd().split('\r\n');
}

function soundLines({ encoding, clockRate, channels }: BaseSound): string[] {
  const type = SOUND_TYPES[encoding];
  const begin = [`m=audio 0 RTP/AVP ${type}`];
  if (encoding !== 'AAC') return [...begin, `a=rtpmap:${type} ${encoding}/8000`, 'a=control:track2'];
  const config = (2 << 11) | (AAC_RATES.indexOf(clockRate) << 7) | (channels << 3);
  return [
    ...begin,
    `a=rtpmap:97 MPEG4-GENERIC/${clockRate}/${channels}`,
    `a=fmtp:97 streamtype=5;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=${config.toString(16).padStart(4, '0')}`,
    'a=control:track2',
  ];
}
