import { RvmError } from '../../../error';
import type { VideoFormat, VideoFrame } from '../../media';
import type { TimedPayload, Track } from '../track';
import { KeyGate } from './key-gate';
import { ParameterSets } from './parameter-sets';
import { Picture } from './picture';
import type { Unpacker } from './unpacking';
import type { NalRole, VideoCodec } from './video-codec';

const UNSUPPORTED =
  'The camera sends its video in packets of an unusual kind: choose another profile of video in the camera.';
const TOO_LARGE =
  'The camera sends pictures that are larger than 8 MiB, or in more than 1024 parts: choose a smaller resolution in the camera.';
const UNDESCRIBED =
  'The camera sends no parameter sets with its video, so that it cannot be decoded: choose another profile of video in the camera.';
/** Key frames without parameter sets, behind which none are expected to come. */
const MOST_UNDESCRIBED = 3;
const UNREADABLE =
  'The camera describes its video in a way that cannot be read: choose another profile of video in the camera.';

/** Puts packets of H.264 or H.265 together to pictures. The first is a key frame, and so is the one after a gap. */
export class VideoTrack implements Track {
  readonly audio = undefined;
  readonly #unpacker: Unpacker;
  readonly #sets: ParameterSets;
  readonly #gate = new KeyGate();
  #picture: Picture | undefined;
  #format: VideoFormat | undefined;
  #fault: RvmError | undefined;
  /** The last picture ended with the time stamp of another: some senders never mark the last packet of one. */
  #endsUnmarked = false;
  /** Some mark each slice: then pictures end with their time stamp alone. */
  #marksSlices = false;
  #lastEnded: number | undefined;
  /** Key frames in a row whose parameter sets were missing. */
  #undescribed = 0;

  /** @param sets what is known of the parameter sets before the first packet; what cannot be read may come better in band */
  constructor(
    private readonly codec: VideoCodec,
    sets: readonly Buffer[],
  ) {
    this.#unpacker = codec.unpacker();
    this.#sets = new ParameterSets(codec);
    for (const nal of sets) this.#addSet(codec.roleOf(nal), nal);
  }

  get fault(): RvmError | undefined {
    return this.#fault;
  }

  read({ payload, marker, time }: TimedPayload): VideoFrame[] {
    const isNext = this.#picture !== undefined && this.#picture.time !== time;
    if (isNext) this.#endsUnmarked = true;
    const frames = isNext ? this.#end() : [];
    this.#picture ??= new Picture(time);
    this.#unpack(this.#picture, payload);
    if (!marker || this.#marksSlices) return frames;
    this.#endsUnmarked = false;
    return [...frames, ...this.#end()];
  }

  gap(): void {
    this.#unpacker.drop();
    this.#picture = undefined;
    this.#gate.close();
  }

  flush(): VideoFrame[] {
    if (!this.#endsUnmarked) this.#picture?.spoil();
    return this.#end();
  }

  #unpack(picture: Picture, payload: Buffer): void {
    const units = this.#unpacker.unpack(payload);
    if (units === 'unsupported') this.#fail(UNSUPPORTED);
    else if (units === 'too-large') this.#fail(TOO_LARGE);
    else if (units === 'damaged') picture.spoil();
    else for (const nal of units) this.#take(picture, nal);
  }

  #take(picture: Picture, nal: Buffer): void {
    const role = this.codec.roleOf(nal);
    if (role === 'slice') this.#takeSlice(picture, nal);
    else if (role === 'recovery') picture.addRecovery(nal);
    else if (!this.#addSet(role, nal)) this.#fail(UNREADABLE);
    if (picture.isTooLarge) this.#fail(TOO_LARGE);
  }

  #takeSlice(picture: Picture, nal: Buffer): void {
    const slice = this.codec.slice(nal);
    if (slice?.isFirst === false && picture.isEmpty && picture.time === this.#lastEnded)
      this.#marksSlices = true;
    picture.addSlice(nal, slice);
  }

  /** False where it cannot be read. */
  #addSet(role: NalRole, nal: Buffer): boolean {
    return (role !== 'vps' && role !== 'sps' && role !== 'pps') || this.#sets.add(role, nal);
  }

  /** The picture under assembly is complete, if nothing of it is missing. */
  #end(): VideoFrame[] {
    const picture = this.#picture;
    this.#picture = undefined;
    if (picture === undefined) return [];
    if (this.#unpacker.isAmidst) picture.spoil();
    this.#unpacker.drop();
    const frame = this.#frameOf(picture);
    if (!picture.isEmpty || picture.isSpoilt) this.#lastEnded = picture.time;
    return frame === undefined ? [] : [frame];
  }

  #frameOf(picture: Picture): VideoFrame | undefined {
    const { time, pps, entry } = picture;
    if (picture.isSpoilt) this.#gate.close();
    if (picture.isSpoilt || pps === undefined || this.#fault !== undefined) return undefined;
    // Another format begins with a key frame, so that players can begin with it, too.
    if (entry !== undefined) this.#format = this.#sets.format(pps, this.#format);
    const format = this.#format;
    if (format === undefined || !this.#sets.isWithin(format, pps))
      return this.#withoutFormat(entry !== undefined);
    this.#undescribed = 0;
    if (!this.#gate.passes(picture)) return undefined;
    const [key, open] = [entry !== undefined, entry === 'open'];
    return { kind: 'video', format, key, open, nals: picture.nals, time };
  }

  /** Waits for the next key frame, which may come with its parameter sets. */
  #withoutFormat(isKey: boolean): undefined {
    this.#gate.close();
    if (isKey) this.#undescribed += 1;
    if (this.#undescribed >= MOST_UNDESCRIBED) this.#fail(UNDESCRIBED);
  }

  #fail(message: string): void {
    this.#fault ??= new RvmError('VIDEO_FAILED', message);
  }
}
