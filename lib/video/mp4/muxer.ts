import {
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
  StreamTarget,
} from 'mediabunny';
import type { AudioFormat, VideoFormat } from '../media';
import { shiftOffsets, showAt } from './index-boxes';
import { shownWidth } from './formats';
import { MediaDataSink, type Append } from './media-data-sink';

/** When a sample is shown or heard, and how long, in seconds. */
export interface SampleTime {
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
