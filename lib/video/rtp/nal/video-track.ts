import { RvmError } from '../../../error';
import type { VideoFormat, VideoFrame } from '../../media';
import type { TimedPayload, Track } from '../track';
import { KeyGate } from './key-gate';
import { ParameterSets } from './parameter-sets';
import { Picture } from './picture';
import { unitsOf, type Unpacked, type Unpacker } from './unpacking';
import type { NalRole, VideoCodec } from './video-codec';

const UNSUPPORTED =
  'The camera sends its video in packets of an unusual kind: choose another profile of video in the camera.';
const TOO_LARGE =
  'The camera sends pictures that are larger than 8 MiB, or in more than 1024 parts: choose a smaller resolution in the camera.';
const UNDESCRIBED =
  'The camera sends no parameter sets with its video, so that it cannot be decoded: choose another profile of video in the camera.';
const UNREADABLE =
  'The camera describes its video in a way that cannot be read: choose another profile of video in the camera.';
/** Faults, and seconds without a picture, behind which none is expected to come: a bad packet, set or picture is passed over. */
const MOST_FAULTS = 3;
const DARK = 10;

/** Puts packets of H.264 or H.265 together to pictures. The first is a key frame, and so is the one after a gap. */
export class VideoTrack implements Track {
  readonly audio = undefined;
  readonly #unpacker: Unpacker;
  readonly #sets: ParameterSets;
  readonly #gate: KeyGate;
  #picture: Picture | undefined;
  #format: VideoFormat | undefined;
  #fault: RvmError | undefined;
  /** The last picture ended with the time stamp of another: some senders never mark the last packet of one. */
  #endsUnmarked = false;
  /** Some mark each slice, or each packet: then pictures end with what follows them alone. */
  #marksAll = false;
  /** The last packet was marked amidst a unit: its end was lost, or marks tell nothing. */
  #isMarkedAmidst = false;
  #lastEnded: number | undefined;
  /** Since the last picture. */
  #faults = 0;
  /** What is missing came, and could not be read. */
  #hasBadSets = false;

  /**
   * @param sets what is known of the parameter sets before the first packet; what cannot be read may come better in band
   * @param now milliseconds of a steady clock
   */
  constructor(
    private readonly codec: VideoCodec,
    sets: readonly Buffer[],
    now: () => number,
  ) {
    this.#unpacker = codec.unpacker();
    this.#sets = new ParameterSets(codec);
    this.#gate = new KeyGate(now);
    for (const nal of sets.flatMap(unitsOf)) this.#addSet(codec.roleOf(nal), nal);
    this.#hasBadSets = false;
  }

  get fault(): RvmError | undefined {
    return this.#fault;
  }

  read({ payload, marker, time }: TimedPayload): VideoFrame[] {
    const isNext = this.#picture !== undefined && this.#picture.time !== time;
    if (isNext && this.#picture?.isOnlyBegun === false) this.#endsUnmarked = true;
    if (this.#isMarkedAmidst && this.#picture?.time === time) this.#marksAll = true;
    const frames = isNext ? this.#finish() : [];
    frames.push(...this.#takeAll(this.#unpacker.unpack(payload), time));
    this.#isMarkedAmidst = marker && !this.#unpacker.mayEnd();
    if (!marker || this.#isMarkedAmidst || this.#marksAll) return frames;
    frames.push(...this.#takeRest());
    // Sets and hints may be marked, but are no picture.
    if (this.#picture?.isOnlyBegun === true) return frames;
    this.#endsUnmarked = false;
    return [...frames, ...this.#end()];
  }

  gap(): void {
    this.#unpacker.drop();
    this.#picture = undefined;
    this.#gate.close();
  }

  flush(): VideoFrame[] {
    if (this.#endsUnmarked) return [...this.#finish(), ...this.#gate.flush()];
    // The end of what was begun did not come.
    this.#unpacker.drop();
    this.#picture = undefined;
    return this.#gate.flush();
  }

  /** Nothing more comes for the picture under assembly. */
  #finish(): VideoFrame[] {
    return [...this.#takeRest(), ...this.#end()];
  }

  /** A unit whose last piece was not told. */
  #takeRest(): VideoFrame[] {
    const time = this.#picture?.time;
    return time === undefined ? [] : this.#takeAll(this.#unpacker.finish(), time);
  }

  /** @returns the pictures before that of these units */
  #takeAll(units: Unpacked, time: number): VideoFrame[] {
    const picture = (this.#picture ??= new Picture(time));
    if (Array.isArray(units)) return units.flatMap(unitsOf).flatMap((nal) => this.#take(nal, time));
    if (units === 'unsupported') this.#passOver(UNSUPPORTED, time);
    else picture.spoil();
    if (units === 'too-large') this.#passOver(TOO_LARGE, time);
    return [];
  }

  #take(nal: Buffer, time: number): VideoFrame[] {
    const role = this.codec.roleOf(nal);
    const picture = (this.#picture ??= new Picture(time));
    let frames: VideoFrame[] = [];
    if (role === 'slice') frames = this.#takeSlice(picture, nal);
    else if (role !== 'other' && !picture.isEmpty) picture.addBehind(nal);
    else this.#takeHead(picture, role, nal);
    if (picture.isTooLarge && !picture.isSpoilt) {
      picture.spoil();
      this.#passOver(TOO_LARGE, time);
    }
    return frames;
  }

  /** Time stamps do not always tell two pictures apart, nor marks. */
  #takeSlice(picture: Picture, nal: Buffer): VideoFrame[] {
    const slice = this.codec.slice(nal);
    const field = slice?.isFirst === true ? this.#sets.fieldOf(nal, slice.pps) : undefined;
    if (slice?.isFirst === true && picture.isEndedBy(field)) {
      const next = new Picture(picture.time);
      const frames = this.#end(next);
      next.addSlice(nal, slice, field);
      return frames;
    }
    if (slice?.isFirst === false && picture.isEmpty && picture.time === this.#lastEnded)
      this.#marksAll = true;
    for (const each of picture.behind.splice(0)) this.#takeHead(picture, this.codec.roleOf(each), each);
    picture.addSlice(nal, slice, field);
    return [];
  }

  #takeHead(picture: Picture | undefined, role: NalRole, nal: Buffer): void {
    if (role === 'recovery') picture?.addRecovery(nal);
    else this.#addSet(role, nal);
  }

  /** One that cannot be read is left out: a good one may be known, or come. */
  #addSet(role: NalRole, nal: Buffer): void {
    if (role !== 'vps' && role !== 'sps' && role !== 'pps') return;
    if (!this.#sets.add(role, nal)) this.#hasBadSets = true;
  }

  /**
   * The picture under assembly is complete, if nothing of it is missing.
   * @param next goes on with what came behind its slices
   */
  #end(next?: Picture): VideoFrame[] {
    const picture = this.#picture;
    this.#picture = next;
    if (picture === undefined) return [];
    const frames = this.#framesOf(picture);
    if (!picture.isEmpty || picture.isSpoilt) this.#lastEnded = picture.time;
    for (const nal of picture.behind) this.#takeHead(next, this.codec.roleOf(nal), nal);
    return frames;
  }

  #framesOf(picture: Picture): VideoFrame[] {
    const { time, pps, entry } = picture;
    if (picture.isSpoilt) this.#gate.close();
    if (picture.isSpoilt || pps === undefined || this.#fault !== undefined) return [];
    if (entry === undefined && !this.#isDescribed(pps)) this.#gate.close();
    const key = this.#gate.isBeginning(picture);
    // Another format begins with a key frame, so that players can begin with it, too.
    if (key) this.#format = this.#sets.format(pps, this.#format);
    const format = this.#format;
    if (format === undefined || !this.#isDescribed(pps)) return this.#withoutFormat(key, time);
    const open = key && entry !== 'clean';
    const nals = key && entry === undefined ? [...this.codec.recovery, ...picture.nals] : picture.nals;
    const frames = this.#gate.passed(picture, { kind: 'video', format, key, open, nals, time });
    if (frames.length > 0) this.#faults = 0;
    return frames;
  }

  #isDescribed(pps: number): boolean {
    return this.#format !== undefined && this.#sets.isWithin(this.#format, pps);
  }

  /** Waits for the next key frame, which may come with its parameter sets. */
  #withoutFormat(isKey: boolean, time: number): [] {
    this.#gate.close();
    if (isKey) this.#passOver(this.#hasBadSets ? UNREADABLE : UNDESCRIBED, time);
    return [];
  }

  /** What is bad again and again, while nothing can be shown, will not be better. */
  #passOver(message: string, time: number): void {
    this.#faults += 1;
    const isLong = this.#gate.darkness(time) >= DARK;
    if (isLong && this.#faults >= MOST_FAULTS) this.#fault ??= new RvmError('VIDEO_FAILED', message);
  }
}
