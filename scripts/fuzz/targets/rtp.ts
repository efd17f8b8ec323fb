import type { MediaFrame, VideoFrame } from '../../../lib/video/media';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { DELIVERED, type Delivery, VIDEO_TYPE, type SentFrame, type SentStream } from '../inputs/rtp';
import { usableFrames } from '../oracle/rtp-frames';
import { targetOf, type Complaint, type Target } from '../runner';

interface Input {
  stream: SentStream;
  delivery: Delivery;
}

interface Answer {
  frames: MediaFrame[];
  fault: string | undefined;
  lost: number;
  wall: number | undefined;
  report: Buffer;
}

/** Packets of video and sound: genuine, late, twice, missing, and changed. */
export function rtpTarget(receive: (input: Input) => Answer = received): Target {
  return targetOf<Input, Answer>({
    name: 'RTP',
    share: 40_000,
    inputs: DELIVERED,
    act: receive,
    judge: ({ stream, delivery }, answer) =>
      oddityOf(delivery, answer) ?? complaintAbout(stream, delivery, answer),
    shown: ({ stream: { encoding, parameters }, delivery }) => ({
      encoding,
      parameters,
      arrivals: delivery.arrivals.map(
        ({ rtcp, bytes }) => `${rtcp ? 'RTCP' : 'RTP'} ${bytes.toString('hex')}`,
      ),
    }),
  });
}

export function received({ stream, delivery }: Input): Answer {
  const { kind, encoding, clockRate, parameters } = stream;
  const medium = {
    kind,
    encoding,
    clockRate,
    channels: 2,
    payloadType: VIDEO_TYPE,
    parameters: new Map(parameters),
  };
  const receiver = new TrackReceiver(medium);
  const frames: MediaFrame[] = [];
  for (const { rtcp, bytes } of delivery.arrivals) {
    if (rtcp) receiver.rtcp(bytes);
    else frames.push(...receiver.rtp(bytes));
  }
  frames.push(...receiver.flush());
  const { fault, lost } = receiver;
  return {
    frames,
    fault: fault?.message,
    lost,
    wall: receiver.wallClock(0),
    report: receiver.receiverReport(),
  };
}

/** What no stream may lead to. */
function oddityOf({ arrivals }: Delivery, { frames, lost, wall, report }: Answer): Complaint | undefined {
  const sent = arrivals.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const made = frames.reduce((sum, frame) => sum + bytesOf(frame), 0);
  if (made > sent) return wrong(`${made} bytes of ${sent}`);
  if (!Number.isInteger(lost) || lost < 0) return wrong(`${lost} lost packets`);
  if (wall !== undefined && !Number.isFinite(wall)) return wrong('no time of the wall clock');
  if (report.length % 4 !== 0 || report[1] !== 201) return wrong('no receiver report');
  const broken = frames.find((frame) => !isWellFormed(frame));
  if (broken !== undefined) return wrong(`a broken frame: ${broken.kind}`);
  const videos = frames.filter((frame) => frame.kind === 'video');
  return videos.every(isFormatKept) ? undefined : wrong('another format without a key frame');
}

function bytesOf(frame: MediaFrame): number {
  if (frame.kind === 'audio') return frame.data.length;
  return frame.nals.reduce((sum, { length }) => sum + length, 0);
}

function isWellFormed(frame: MediaFrame): boolean {
  if (!Number.isFinite(frame.time) || frame.format.description.length === 0) return false;
  if (frame.kind === 'audio') return frame.data.length > 0;
  const { nals, format } = frame;
  const { parameterSets, width, height, codecString } = format;
  const isSize = [width, height].every((side) => side >= 1 && side <= 16_384);
  const isNamed = /^(?:avc1\.[\dA-F]{6}|hvc1\.[ABC]?\d+\.[\dA-F]+\.[LH]\d+(?:\.[\dA-F]+)*)$/.test(
    codecString,
  );
  const units = [...nals, ...parameterSets];
  return (
    nals.length > 0 &&
    parameterSets.length > 1 &&
    isSize &&
    isNamed &&
    units.every(({ length }) => length > 0)
  );
}

/** The first begins one. */
function isFormatKept(frame: VideoFrame, index: number, frames: readonly VideoFrame[]): boolean {
  return frame.key || frames[index - 1]?.format === frame.format;
}

/** Compares with what was sent, as far as nothing of it was changed. */
function complaintAbout(stream: SentStream, { missing }: Delivery, answer: Answer): Complaint | undefined {
  if (missing === undefined) return undefined;
  const { frames, fault, lost } = answer;
  if (fault !== undefined) return { fault: 'rejected', reason: fault };
  const expected = usableFrames(stream.frames, missing);
  if (frames.length < expected.length)
    return { fault: 'rejected', reason: `${frames.length} of ${expected.length} frames` };
  if (frames.length > expected.length)
    return { fault: 'accepted', reason: `${frames.length} for ${expected.length} frames` };
  const at = expected.findIndex((frame, index) => !isSame(stream, frame, frames[index]));
  if (at >= 0) return wrong(`frame ${at} is another one`);
  return lost <= missing.size ? undefined : wrong(`${lost} lost packets of ${missing.size}`);
}

function isSame({ clockRate }: SentStream, sent: SentFrame, frame: MediaFrame | undefined): boolean {
  if (frame === undefined || Math.round(frame.time * clockRate) !== sent.ticks) return false;
  if (frame.kind === 'video' && frame.key !== sent.isKey) return false;
  const units = frame.kind === 'video' ? frame.nals : [frame.data];
  return units.length === sent.units.length && sent.units.every((unit, index) => units[index]?.equals(unit));
}

function wrong(reason: string): Complaint {
  return { fault: 'wrong', reason };
}
