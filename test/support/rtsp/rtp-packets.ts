import { videoPayloads, compoundBye, senderReport, RtpPackets } from '../../../sandbox/rtsp/media/packets';
import { TICKS_PER_PICTURE, PAYLOAD_TYPES } from '../../../sandbox/rtsp/media/programme';
import type { Footage } from '../../../sandbox/scene/footage';
import { Scenes, emptyGate } from '../../../sandbox/scene/scenes';
import { interleaved } from './scripted-relay';

/** A camera of the sandbox where nobody comes. */
const VIEW = emptyGate('');
const AUDIO_TYPE = 97;
const AUDIO_SSRC = 0x1234;

/** What a relay sends of the recording of the sandbox, picture by picture, as bytes of its connection. */
export class PictureSource {
  readonly #packets = new RtpPackets(PAYLOAD_TYPES.video);
  #next = 0;

  private constructor(
    private readonly footage: Footage,
    private readonly channel: number,
  ) {}

  static async load(channel = 0): Promise<PictureSource> {
    return new PictureSource(await new Scenes().footage(VIEW.scene), channel);
  }

  /** Sequence number of the next packet. */
  get sequence(): number {
    return this.#packets.sequence;
  }

  /** RTP time of the next picture. */
  get rtpTime(): number {
    return this.#next * TICKS_PER_PICTURE;
  }

  /** The next pictures: every tenth, from the first on, is a key frame. */
  pictures(count: number): Buffer {
    const packets: Buffer[] = [];
    for (let made = 0; made < count; made += 1) {
      const { nals } = this.footage.picture(this.#next, VIEW);
      packets.push(...this.#packets.of(videoPayloads(this.footage.codec, nals), this.rtpTime));
      this.#next += 1;
    }
    return Buffer.concat(packets.map((packet) => interleaved(this.channel, packet)));
  }

  /** @param wallClock epoch milliseconds of RTP time 0 */
  report(wallClock: number): Buffer {
    return interleaved(this.channel + 1, senderReport({ ...this.#sender(), wallClock, timestamp: 0 }));
  }

  bye(): Buffer {
    return interleaved(this.channel + 1, compoundBye(this.#sender()));
  }

  #sender(): { ssrc: number; wallClock: number; timestamp: number; packets: number; octets: number } {
    const { ssrc, packets, octets } = this.#packets;
    return { ssrc, wallClock: 0, timestamp: this.rtpTime, packets, octets };
  }
}

/** One access unit of AAC in a packet (RFC 3640, section 3.3.6), on channel 2. */
export function soundPacket(sequence: number, rtpTime: number): Buffer {
  const unit = Buffer.alloc(10, sequence);
  const head = Buffer.alloc(16);
  head[0] = 0x80;
  head[1] = 0x80 | AUDIO_TYPE;
  head.writeUInt16BE(sequence & 0xffff, 2);
  head.writeUInt32BE(rtpTime >>> 0, 4);
  head.writeUInt32BE(AUDIO_SSRC, 8);
  head.writeUInt16BE(16, 12);
  head.writeUInt16BE(unit.length << 3, 14);
  return interleaved(2, Buffer.concat([head, unit]));
}

/** @param wallClock epoch milliseconds of RTP time 0 */
export function soundReport(wallClock: number): Buffer {
  const sender = { ssrc: AUDIO_SSRC, wallClock, timestamp: 0, packets: 1, octets: 1 };
  return interleaved(3, senderReport(sender));
}

export function soundBye(): Buffer {
  return interleaved(3, compoundBye({ ssrc: AUDIO_SSRC, wallClock: 0, timestamp: 0, packets: 1, octets: 1 }));
}
