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
 * Interleaves pictures and audio as an MP4 with its index last, and passes on only the media data. The bytes before them, index
 * included, are known once all samples are there.
 *
 * Loads the muxer library: import this file at first use only.
 */
export class Muxer {
  readonly #sink: MediaDataSink;
  readonly #output: Output;
  readonly #pictures: EncodedVideoPacketSource;
  readonly #sounds: EncodedAudioPacketSource | undefined;
  #fileType: Uint8Array = new Uint8Array();
  #index: Uint8Array = new Uint8Array();

  /** Begins an MP4. @throws the error of `append`, as all other methods do */
  static async open(video: VideoFormat, audio: AudioFormat | undefined, append: Append): Promise<Muxer> {
    const muxer = new Muxer(video, audio, append);
    await muxer.#output.start();
    return muxer;
  }

  private constructor(
    private readonly video: VideoFormat,
    audio: AudioFormat | undefined,
    append: Append,
  ) {
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

  /** @param key whether a player may seek to the picture; true for the first */
  async addPicture(data: Uint8Array, key: boolean, { time, duration }: SampleTime): Promise<void> {
    await this.#pictures.add(new EncodedPacket(data, key ? 'key' : 'delta', time, duration));
  }

  async addSound(data: Uint8Array, { time, duration }: SampleTime): Promise<void> {
    await this.#sounds?.add(new EncodedPacket(data, 'key', time, duration));
  }

  /** Ends the MP4. @returns all bytes before the media data, which has then been passed on completely */
  async finish(): Promise<Buffer> {
    await this.#output.finalize();
    const index = Buffer.from(this.#index);
    const mediaHead = mediaHeadOf(this.#sink.length);
    const begin = this.#fileType.length + index.length + mediaHead.length;
    shiftOffsets(index, begin - this.#sink.begin);
    if (this.video.pixelAspect !== undefined) showAt(index, shownWidth(this.video));
    return Buffer.concat([this.#fileType, index, mediaHead]);
  }

  /** Never fails. */
  async cancel(): Promise<void> {
    // The library reports a cancel after the end on the console.
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

/** Head of the box `mdat`. */
function mediaHeadOf(bytes: number): Buffer {
  const head = Buffer.from('\0\0\0\0mdat', 'latin1');
  head.writeUInt32BE(head.length + bytes);
  return head;
}

/** Takes media data, in order; the writer waits for it. */
type Append = (data: Uint8Array) => Promise<void>;

/** Passes on the media data of an MP4 with its index last, and drops the bytes before and after it. */
class MediaDataSink {
  /** For the library to write to. Takes one piece while it waits for more of them. */
  readonly stream: WritableStream<StreamTargetChunk>;
  /** Where the media data begins, and its length, in bytes. */
  begin = 0;
  length = 0;
  /** Where the index begins, once it is known. */
  indexAt = Infinity;

  constructor(append: Append) {
    this.stream = new WritableStream({ write: (chunk) => this.#take(chunk, append) });
  }

  async #take({ position, data }: StreamTargetChunk, append: Append): Promise<void> {
    // The first chunk contains all bytes before the data. Its sizes are rewritten at the end.
    if (position === 0) this.begin = Math.max(this.begin, data.length);
    if (position < this.begin) return;
    const media = data.subarray(0, Math.max(0, this.indexAt - position));
    this.length += media.length;
    if (media.length > 0) await append(media);
  }
}

/** Boxes around the tables of offsets (ISO/IEC 14496-12, section 8). */
const AROUND = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);
/** Size and type before the content of a box; version, flags and count before the offsets of a table. */
const BOX_HEAD = 8;
const TABLE_HEAD = 8;
/** Width and height end a `tkhd`, as numbers with 16 binary places. */
const WIDTH_BEFORE_END = 8;
const ONE = 0x10000;

/**
 * Adapts an index to another position of the media data: adds `by` bytes to all its offsets (`stco`). The index was written
 * here, so its sizes are trusted.
 */
function shiftOffsets(index: Buffer, by: number): void {
  for (const [type, content] of boxesIn(index)) {
    if (AROUND.has(type)) shiftOffsets(content, by);
    if (type === 'stco') shiftTable(content, by);
  }
}

/** Writes the displayed width into an index, where pixels are not square. Audio tracks have width 0. */
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
