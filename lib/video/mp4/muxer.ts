import { WritableStream } from 'node:stream/web';
import {
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
  StreamTarget,
  type StreamTargetChunk,
} from 'mediabunny';
import type { AudioFormat, VideoFormat } from '../media';
import { shownWidth } from './timeline';

/** When a sample is shown or heard, and how long, in seconds. */
interface SampleTime {
  time: number;
  duration: number;
}

/**
 * Interleaves pictures and sound as an MP4 with its index last, and hands on the media data alone. What stands before them, index
 * included, is known once all samples are there.
 *
 * Loads the library that does it, so import this file at first use.
 */
export class Muxer {
  readonly #video: VideoFormat;
  readonly #sink: MediaDataSink;
  readonly #output: Output;
  readonly #pictures: EncodedVideoPacketSource;
  readonly #sounds: EncodedAudioPacketSource | undefined;
  #fileType: Uint8Array = new Uint8Array();
  #index: Uint8Array = new Uint8Array();

  /** Begins an MP4. @throws what `append` throws, like all others here */
  static async open(video: VideoFormat, audio: AudioFormat | undefined, append: Append): Promise<Muxer> {
    const muxer = new Muxer(video, audio, append);
    await muxer.#output.start();
    return muxer;
  }

  private constructor(video: VideoFormat, audio: AudioFormat | undefined, append: Append) {
    this.#video = video;
    this.#sink = new MediaDataSink(append);
    this.#output = new Output({
      format: new Mp4OutputFormat({
        fastStart: false,
        onFtyp: (data) => {
          this.#fileType = data;
        },
        onMoov: (data, position) => {
          this.#index = data;
          this.#sink.indexAt = position;
        },
      }),
      target: new StreamTarget(this.#sink.stream),
    });
    this.#pictures = new EncodedVideoPacketSource(video.codec === 'h264' ? 'avc' : 'hevc');
    this.#output.addVideoTrack(this.#pictures, { decoderConfig: videoConfig(video) });
    if (audio === undefined) return;
    this.#sounds = new EncodedAudioPacketSource('aac');
    this.#output.addAudioTrack(this.#sounds, { decoderConfig: audioConfig(audio) });
  }

  /** @param key a player may seek to it; the first must be one */
  async addPicture(data: Uint8Array, key: boolean, { time, duration }: SampleTime): Promise<void> {
    await this.#pictures.add(new EncodedPacket(data, key ? 'key' : 'delta', time, duration));
  }

  async addSound(data: Uint8Array, { time, duration }: SampleTime): Promise<void> {
    await this.#sounds?.add(new EncodedPacket(data, 'key', time, duration));
  }

  /** All that stands before the media data, the last of which have been handed on. */
  async finish(): Promise<Buffer> {
    await this.#output.finalize();
    const index = Buffer.from(this.#index);
    const mediaHead = mediaHeadOf(this.#sink.length);
    const begin = this.#fileType.length + index.length + mediaHead.length;
    shiftOffsets(index, begin - this.#sink.begin);
    if (this.#video.pixelAspect !== undefined) showAt(index, shownWidth(this.#video));
    return Buffer.concat([this.#fileType, index, mediaHead]);
  }

  /** Never fails. */
  async cancel(): Promise<void> {
    // What is over already is told on the console.
    if (this.#output.state === 'started') await this.#output.cancel().catch(() => undefined);
  }
}

function videoConfig({
  codecString,
  width,
  height,
  pixelAspect: { across, down } = { across: 1, down: 1 },
  description,
}: VideoFormat): VideoDecoderConfig {
  const shown = { displayAspectWidth: width * across, displayAspectHeight: height * down };
  return { codec: codecString, codedWidth: width, codedHeight: height, ...shown, description };
}

function audioConfig({ codecString, sampleRate, channels, description }: AudioFormat): AudioDecoderConfig {
  return { codec: codecString, sampleRate, numberOfChannels: channels, description };
}

/** Of the box `mdat`. */
function mediaHeadOf(bytes: number): Buffer {
  const head = Buffer.from('\0\0\0\0mdat', 'latin1');
  head.writeUInt32BE(head.length + bytes);
  return head;
}

/** Takes media data, in order; who writes waits for it. */
type Append = (data: Uint8Array) => Promise<void>;

/** Hands on the media data of an MP4 that is written with its index last, and leaves out what stands before and behind them. */
class MediaDataSink {
  /** For the library to write to. Takes one piece while it waits for more of them. */
  readonly stream: WritableStream<StreamTargetChunk>;
  /** Where the media data begin, and how many there are, in bytes. */
  begin = 0;
  length = 0;
  /** Where the index begins, once it is known. */
  indexAt = Infinity;

  constructor(append: Append) {
    this.stream = new WritableStream({ write: (chunk) => this.#take(chunk, append) });
  }

  async #take({ position, data }: StreamTargetChunk, append: Append): Promise<void> {
    // First of all comes all that stands before the data, in one piece. Its sizes are written anew in the end.
    if (position === 0) this.begin = Math.max(this.begin, data.length);
    if (position < this.begin) return;
    const media = data.subarray(0, Math.max(0, this.indexAt - position));
    this.length += media.length;
    if (media.length > 0) await append(media);
  }
}

/** The boxes on the way to the tables of offsets (ISO/IEC 14496-12, section 8). */
const AROUND = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);
/** Size and type before the content of a box; version, flags and count before the offsets of a table. */
const BOX_HEAD = 8;
const TABLE_HEAD = 8;
/** Width and height end a `tkhd`, as numbers with 16 binary places. */
const WIDTH_BEFORE_END = 8;
const ONE = 0x10000;

/**
 * Tells an index that the media data lie elsewhere: all offsets in it (`stco`) grow, or shrink, by so many bytes.
 * The index is ours, so that its sizes are believed.
 */
function shiftOffsets(index: Buffer, by: number): void {
  for (const [type, content] of boxesIn(index)) {
    if (AROUND.has(type)) shiftOffsets(content, by);
    if (type === 'stco') shiftTable(content, by);
  }
}

/** Tells an index how wide its pictures are shown, where their pixels are not square: sound has no width. */
function showAt(index: Buffer, width: number): void {
  for (const [type, content] of boxesIn(index)) {
    if (type === 'moov' || type === 'trak') showAt(content, width);
    const at = content.length - WIDTH_BEFORE_END;
    if (type === 'tkhd' && content.readUInt32BE(at) > 0) content.writeUInt32BE(Math.round(width * ONE), at);
  }
}

function* boxesIn(index: Buffer): Iterable<[type: string, content: Buffer]> {
  for (let at = 0; at + BOX_HEAD <= index.length;) {
    const size = index.readUInt32BE(at);
    yield [index.toString('latin1', at + 4, at + BOX_HEAD), index.subarray(at + BOX_HEAD, at + size)];
    at += size;
  }
}

function shiftTable(table: Buffer, by: number): void {
  for (let at = TABLE_HEAD; at < table.length; at += 4) table.writeUInt32BE(table.readUInt32BE(at) + by, at);
}
