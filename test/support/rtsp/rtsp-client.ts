import { TestRtspConnection, type ChannelData, type RtspAnswer } from './rtsp-connection';
import { PATIENCE } from '../time/patience';
import { PictureAssembler, type ReceivedPicture } from './rtp-pictures';

export type { ReceivedPicture } from './rtp-pictures';

/** The server refused a request of the player. */
export class RtspStatusError extends Error {
  readonly method: string;
  readonly status: number;

  constructor(method: string, status: number) {
    super(`${method} was answered ${status}`);
    this.method = method;
    this.status = status;
  }
}

export interface ReceiveOptions {
  /** How many pictures to wait for. */
  pictures: number;
  /** `Range` of PLAY; none unless said. */
  range?: string;
}

export interface Reception {
  /** Fewer than wanted where the stream ended before. */
  pictures: ReceivedPicture[];
  sdp: string;
  /** `Range` and `RTP-Info` of the answer to PLAY. */
  range: string;
  rtpInfo: string;
}

/**
 * Plays an RTSP URL over TCP as a player does, takes pictures, and ends the session with TEARDOWN.
 * Throws RtspStatusError where the server refuses a step.
 */
export async function receivePictures(url: string, options: ReceiveOptions): Promise<Reception> {
  const player = await RtspPlayer.open(url);
  try {
    const sdp = await player.describe();
    await player.setup();
    const played = await player.play(options.range);
    const pictures = await player.pictures(options.pictures);
    await player.teardown();
    return {
      pictures,
      sdp,
      range: played.headers.get('range') ?? '',
      rtpInfo: played.headers.get('rtp-info') ?? '',
    };
  } finally {
    player.close();
  }
}

/** A player step by step, over one TCP connection with interleaved data. */
export class RtspPlayer {
  readonly connection: TestRtspConnection;
  readonly url: string;
  session = '';
  /** Packets of the RTCP channel so far. */
  readonly reports: Buffer[] = [];
  /** RTP packets so far. */
  readonly packets: Buffer[] = [];
  /** The same of the sound, where that was set up. */
  readonly soundPackets: Buffer[] = [];
  readonly soundReports: Buffer[] = [];
  readonly #assembler = new PictureAssembler();
  #base: string;
  #track: string;
  #soundTrack: string;

  private constructor(connection: TestRtspConnection, url: string) {
    this.connection = connection;
    this.url = url;
    this.#base = url;
    this.#track = url;
    this.#soundTrack = url;
  }

  static async open(url: string): Promise<RtspPlayer> {
    return new RtspPlayer(await TestRtspConnection.open(url), url);
  }

  /** Asks for the description and remembers where the track is; returns the description. */
  async describe(): Promise<string> {
    const answer = await this.#ask('DESCRIBE', this.url, { Accept: 'application/sdp' });
    this.#base = answer.headers.get('content-base') ?? this.url;
    this.#track = this.#controlOf('video', answer.body);
    this.#soundTrack = this.#controlOf('audio', answer.body);
    return answer.body;
  }

  async setup(transport = 'RTP/AVP/TCP;unicast;interleaved=0-1'): Promise<RtspAnswer> {
    const answer = await this.#ask('SETUP', this.#track, { Transport: transport });
    this.session = (answer.headers.get('session') ?? '').split(';')[0] ?? '';
    return answer;
  }

  /** Adds the sound to the session, on channels 2 and 3. */
  setupSound(): Promise<RtspAnswer> {
    return this.#ask('SETUP', this.#soundTrack, { Transport: 'RTP/AVP/TCP;unicast;interleaved=2-3' });
  }

  play(range?: string): Promise<RtspAnswer> {
    return this.#ask('PLAY', this.#base, range === undefined ? {} : { Range: range });
  }

  pause(): Promise<RtspAnswer> {
    return this.#ask('PAUSE', this.#base);
  }

  async teardown(): Promise<void> {
    await this.#ask('TEARDOWN', this.#base);
  }

  /** The next pictures; fewer where the stream ends (BYE or end of the connection) before. */
  async pictures(count: number): Promise<ReceivedPicture[]> {
    const pictures: ReceivedPicture[] = [];
    while (pictures.length < count) {
      const packet = await this.packet();
      if (packet === undefined) break;
      const picture = this.#assembler.add(packet.data);
      if (picture !== undefined) pictures.push(picture);
    }
    return pictures;
  }

  /** The next RTP packet; undefined at the end of the stream. */
  async packet(timeoutMs = PATIENCE): Promise<ChannelData | undefined> {
    while (!this.connection.closed || this.connection.waitingFrames > 0) {
      const frame = await this.#frame(timeoutMs);
      if (frame === undefined) return undefined;
      if (frame.channel === 0) {
        this.packets.push(frame.data);
        return frame;
      }
      if (frame.channel === 2) this.soundPackets.push(frame.data);
      else if (frame.channel === 3) this.soundReports.push(frame.data);
      if (frame.channel !== 1) continue;
      this.reports.push(frame.data);
      if (hasBye(frame.data)) return undefined;
    }
    return undefined;
  }

  close(): void {
    this.connection.close();
  }

  #controlOf(medium: 'video' | 'audio', description: string): string {
    const control = new RegExp(`^m=${medium}[^]*?^a=control:(\\S+)`, 'm').exec(description)?.[1] ?? '';
    return /^rtsps?:/.test(control) ? control : `${this.#base}${control}`;
  }

  async #frame(timeoutMs: number): Promise<ChannelData | undefined> {
    try {
      return await this.connection.frame(timeoutMs);
    } catch (error) {
      if (this.connection.closed) return undefined;
      throw error;
    }
  }

  async #ask(method: string, url: string, headers: Record<string, string> = {}): Promise<RtspAnswer> {
    const session: Record<string, string> = this.session === '' ? {} : { Session: this.session };
    const answer = await this.connection.request(method, url, { ...session, ...headers });
    if (answer.status !== 200) throw new RtspStatusError(method, answer.status);
    return answer;
  }
}

/** Packet types of a compound RTCP packet, in their order. */
export function reportTypes(compound: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at + 4 <= compound.length; at += 4 * (compound.readUInt16BE(at + 2) + 1))
    types.push(compound.readUInt8(at + 1));
  return types;
}

function hasBye(compound: Buffer): boolean {
  return reportTypes(compound).includes(203);
}
