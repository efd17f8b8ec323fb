import { RvmError } from '../../error';
import { costOf, type TimedPayload, type Track, type VideoFormat, type VideoFrame } from '../media';
import {
  type DepacketizedUnit,
  Depacketizer,
  type Field,
  MOST_BYTES,
  type NalRole,
  type Pps,
  type Slice,
  type Sps,
  unitsOf,
  type VideoCodec,
} from './nal-unit';

/** Seconds without a key frame until decoding begins with an intra picture: some cameras send only those. */
const KEY_FRAME_TIMEOUT = 3;
/**
 * Seconds without a key frame until intra pictures count as key frames for viewers that join later, even while decoding is
 * intact. Up to that age, the last key frame is a better start for players.
 */
const SELDOM = 30;
/** Seconds without a picture until pictures with missing references are shown, damaged as they are. */
const DARK = 10;
/** Bytes that wait until it is clear where decoding begins. */
const MAX_PENDING = 4 * 1024 * 1024;

/**
 * Passes the pictures that can be decoded: from a key frame until packets are missing. Without a key frame, an intra picture
 * and its successors are held for a while; then decoding begins with that intra picture.
 */
class KeyFrameGate {
  #isOpen = false;
  #hasBegun = false;
  /** Decoding began with an intra picture, and no key frame has arrived since. */
  #isWithoutKeys = false;
  /** Time of the last beginning; pictures with `reachesBack` that are shown before it are broken. */
  #leadsTo: number | undefined;
  #pending: VideoFrame[] = [];
  #pendingBytes = 0;
  readonly #sinceKey: Elapsed;
  readonly #sincePicture: Elapsed;

  /** @param now monotonic clock in milliseconds */
  constructor(now: () => number) {
    this.#sinceKey = new Elapsed(now);
    this.#sincePicture = new Elapsed(now);
  }

  /** Packets are missing: closes the gate until the next picture that decoding can begin with. */
  close(): void {
    this.#isOpen = false;
    this.#take();
  }

  /** Whether decoding begins with this picture, or may have to. */
  isBeginning({ entry, isIntra, time }: AccessUnitBuilder): boolean {
    const isSeldom = this.#sinceKey.at(time) >= SELDOM || this.#isWithoutKeys;
    return entry !== undefined || (isIntra && (!this.#isOpen || isSeldom));
  }

  /** Seconds without a picture that could be shown. */
  darkness(time: number): number {
    return this.#sincePicture.at(time);
  }

  /**
   * @param frame the frame of the picture, `key` where it is a beginning
   * @returns the frames that can be shown now
   */
  passed(picture: AccessUnitBuilder, frame: VideoFrame): VideoFrame[] {
    const shown = this.#shown(picture, frame);
    if (shown.length > 0) this.#sincePicture.restart(frame.time);
    return shown;
  }

  /** Returns the frames still held, at the end of the stream. */
  flush(): VideoFrame[] {
    return this.#take();
  }

  #shown(picture: AccessUnitBuilder, frame: VideoFrame): VideoFrame[] {
    if (picture.entry !== undefined) return this.#begin(picture, frame);
    if (picture.first?.reachesBack === true && this.#isBefore(frame.time)) return [];
    if (this.#isOpen) return [frame];
    if (this.#pending.length === 0 && !frame.key) return this.#broken(frame);
    return this.#hold(frame);
  }

  #begin({ entry, first, time }: AccessUnitBuilder, frame: VideoFrame): VideoFrame[] {
    this.#take();
    this.#leadsTo = entry === 'open' && (!this.#isOpen || first?.isBrokenLink === true) ? time : undefined;
    this.#open();
    this.#isWithoutKeys = false;
    this.#sinceKey.restart(time);
    return [frame];
  }

  #hold(frame: VideoFrame): VideoFrame[] {
    if (this.#pending.length === 0) this.#leadsTo = frame.time;
    this.#pending.push(frame);
    this.#pendingBytes += costOf(frame);
    if (this.#sinceKey.at(frame.time) < KEY_FRAME_TIMEOUT && this.#pendingBytes < MAX_PENDING) return [];
    this.#open();
    this.#isWithoutKeys = true;
    return this.#take();
  }

  /** Opens for a damaged picture after `DARK` seconds: decoders continue with the references they have. */
  #broken(frame: VideoFrame): VideoFrame[] {
    if (!this.#hasBegun || this.#sincePicture.at(frame.time) < DARK) return [];
    this.#open();
    return [frame];
  }

  #open(): void {
    this.#isOpen = true;
    this.#hasBegun = true;
  }

  #take(): VideoFrame[] {
    this.#pendingBytes = 0;
    return this.#pending.splice(0);
  }

  #isBefore(time: number): boolean {
    return this.#leadsTo !== undefined && time < this.#leadsTo;
  }
}

/**
 * Seconds elapsed by the clock of the stream or by the local one, whichever is more: a camera's clock may stand still, and a
 * recording may arrive faster than it was taken.
 */
class Elapsed {
  #from: { time: number; at: number } | undefined;

  /** @param now monotonic clock in milliseconds */
  constructor(private readonly now: () => number) {}

  /** @param time seconds on the clock of the stream, as in `at` */
  restart(time: number): void {
    this.#from = { time, at: this.now() };
  }

  /** Seconds since the start, or since the first query. */
  at(time: number): number {
    this.#from ??= { time, at: this.now() };
    return Math.max(time - this.#from.time, (this.now() - this.#from.at) / 1000);
  }
}

/** Parameter sets of one kind: cameras have one or two. */
const MOST_SETS = 16;
/** Bytes of a parameter set: with scaling lists and all else it has a few hundred. */
const MOST_SET_BYTES = 4096;

/** A parameter set and what was read of it. */
interface ParameterSet<Read> {
  nal: Buffer;
  read: Read;
}

/** The parameter sets of one kind received so far, by id; the last one of an id is valid. */
class SetsOfKind<Read extends { id: number }> extends Map<number, ParameterSet<Read>> {
  constructor(private readonly read: (nal: Buffer) => Read | undefined) {
    super();
  }

  /** A set that is received again stays the same object. @returns false where the set cannot be read */
  add(nal: Buffer): boolean {
    if ([...this.values()].some((known) => known.nal.equals(nal))) return true;
    const read = this.read(nal);
    if (read === undefined) return false;
    // At capacity, the oldest one goes.
    const [oldest] = this.keys();
    if (!this.has(read.id) && this.size >= MOST_SETS && oldest !== undefined) this.delete(oldest);
    this.set(read.id, { nal, read });
    return true;
  }
}

/** The parameter sets received so far. */
class ParameterSets {
  readonly #vps: SetsOfKind<{ id: number }>;
  readonly #sps: SetsOfKind<Sps>;
  readonly #pps: SetsOfKind<Pps>;

  constructor(private readonly codec: VideoCodec) {
    this.#vps = new SetsOfKind(codec.vps);
    this.#sps = new SetsOfKind(codec.sps);
    this.#pps = new SetsOfKind(codec.pps);
  }

  /** @returns false where the set cannot be read */
  add(role: 'vps' | 'sps' | 'pps', nal: Buffer): boolean {
    if (nal.length > MOST_SET_BYTES) return false;
    return { vps: this.#vps, sps: this.#sps, pps: this.#pps }[role].add(nal);
  }

  /** The format of pictures with this PPS: `former` if unchanged; undefined where a set is missing. */
  format(pps: number, former: VideoFormat | undefined): VideoFormat | undefined {
    const found = this.#chain(pps);
    if (found === undefined) return undefined;
    const { vps, sps } = found;
    const all = [...this.#pps.values()].filter(({ read }) => read.sps === sps.read.id).map(({ nal }) => nal);
    const parameterSets = [...vps, sps.nal, ...all];
    if (former !== undefined && areSame(former.parameterSets, parameterSets)) return former;
    const { width, height, pixelAspect, codecString } = sps.read;
    const description = sps.read.record({ vps, sps: sps.nal, pps: all });
    return { codec: this.codec.name, parameterSets, width, height, pixelAspect, codecString, description };
  }

  /** Whether pictures with this picture parameter set can be decoded with a format. */
  isWithin(format: VideoFormat, pps: number): boolean {
    const found = this.#chain(pps);
    return (
      found !== undefined &&
      [...found.vps, found.sps.nal, found.pps.nal].every((nal) => format.parameterSets.includes(nal))
    );
  }

  /** Which field of a frame the picture is that begins with this slice; undefined for a whole frame. */
  fieldOf(slice: Buffer, pps: number): Field | undefined {
    return this.#chain(pps)?.sps.read.fieldOf(slice);
  }

  #chain(id: number): { vps: Buffer[]; sps: ParameterSet<Sps>; pps: ParameterSet<Pps> } | undefined {
    const pps = this.#pps.get(id);
    const sps = pps && this.#sps.get(pps.read.sps);
    if (pps === undefined || sps === undefined) return undefined;
    if (sps.read.vps === undefined) return { vps: [], sps, pps };
    const vps = this.#vps.get(sps.read.vps);
    return vps && { vps: [vps.nal], sps, pps };
  }
}

/** Compares identities: a set that is received again stays the same object. */
function areSame(one: readonly Buffer[], other: readonly Buffer[]): boolean {
  return one.length === other.length && one.every((nal, index) => nal === other[index]);
}

/** NAL units of a picture: enough for a slice per row of macroblocks of the tallest one. */
const MOST_UNITS = 1024;

/** A picture under assembly. */
class AccessUnitBuilder {
  readonly nals: Buffer[] = [];
  /**
   * Parameter sets and recovery points after slices: they belong to this picture or to the next one, as the next unit shows.
   */
  readonly behind: Buffer[] = [];
  first: Slice | undefined;
  /** All slices are intra-coded: they reference no other picture, but later ones may reference pictures before this one. */
  isIntra = true;
  /** A part of the picture is missing. */
  isSpoilt = false;
  #bytes = 0;
  #units = 0;
  readonly #fields: (Field | undefined)[] = [];
  #hasRecovery = false;

  constructor(readonly time: number) {}

  /** No slice has arrived. */
  get isEmpty(): boolean {
    return this.first === undefined;
  }

  /** Nothing is missing yet, but there is no slice. */
  get isOnlyBegun(): boolean {
    return this.isEmpty && !this.isSpoilt;
  }

  get isTooLarge(): boolean {
    return this.#bytes > MOST_BYTES || this.#units > MOST_UNITS;
  }

  /** Decoding can begin here: `open` where pictures shown before it may reference pictures before it. */
  get entry(): Slice['entry'] {
    return this.first?.entry ?? (this.#hasRecovery && this.isIntra ? 'open' : undefined);
  }

  spoil(): void {
    this.isSpoilt = true;
    this.nals.length = 0;
  }

  /** Whether a first slice begins another picture; the second field of a frame does not. */
  isEndedBy(field: Field | undefined): boolean {
    if (this.isEmpty) return this.isSpoilt;
    return field === undefined || this.#fields.length > 1 || [undefined, field].includes(this.#fields[0]);
  }

  addBehind(nal: Buffer): void {
    this.#count(nal);
    if (!this.isTooLarge) this.behind.push(nal);
  }

  addRecovery(nal: Buffer): void {
    this.#hasRecovery = true;
    this.#add(nal);
  }

  /**
   * @param slice its header; undefined where it cannot be read
   * @param field the field that it begins; undefined for a whole frame
   */
  addSlice(nal: Buffer, slice: Slice | undefined, field: Field | undefined): void {
    if (slice === undefined || (this.isEmpty && !slice.isFirst)) return this.spoil();
    this.first ??= slice;
    if (slice.isFirst) this.#fields.push(field);
    this.isIntra &&= slice.isIntra;
    this.#add(nal);
  }

  #add(nal: Buffer): void {
    if (this.isSpoilt) return;
    this.#count(nal);
    this.nals.push(nal);
  }

  #count({ length }: Buffer): void {
    this.#bytes += length;
    this.#units += 1;
  }
}

const UNSUPPORTED =
  'The camera sends its video in packets of an unusual kind: choose another profile of video in the camera.';
const TOO_LARGE =
  'The camera sends pictures that are larger than 8 MiB, or in more than 1024 parts: choose a smaller resolution in the camera.';
const UNDESCRIBED =
  'The camera sends no parameter sets with its video, so that it cannot be decoded: choose another profile of video in the camera.';
const UNREADABLE =
  'The camera describes its video in a way that cannot be read: choose another profile of video in the camera.';
/**
 * Faults after which the track fails, if there was no picture for `DARK` seconds either. A single bad packet, set or picture is
 * skipped.
 */
const MOST_FAULTS = 3;

/** Assembles H.264 or H.265 packets to pictures. The first one, also after a gap, is a key frame. */
export class VideoTrack implements Track {
  readonly audio = undefined;
  fault: RvmError | undefined;
  readonly #depacketizer: Depacketizer;
  readonly #sets: ParameterSets;
  readonly #gate: KeyFrameGate;
  #picture: AccessUnitBuilder | undefined;
  #format: VideoFormat | undefined;
  /** Only the next time stamp ended the last picture: some senders never mark its last packet. */
  #endsUnmarked = false;
  /** The sender marks each slice or each packet: pictures end only with the next one. */
  #marksAll = false;
  /** The last packet was marked within a unit: the end of the unit was lost, or markers mean nothing. */
  #isMarkedAmidst = false;
  #lastEnded: number | undefined;
  /** Faults since the last picture. */
  #faults = 0;
  /** Parameter sets have arrived that could not be read. */
  #hasBadSets = false;

  /**
   * @param sets parameter sets known before the first packet; readable ones may follow in band for those that
   *   are not
   * @param now monotonic clock in milliseconds
   */
  constructor(
    private readonly codec: VideoCodec,
    sets: readonly Buffer[],
    now: () => number,
  ) {
    this.#depacketizer = new Depacketizer(codec);
    this.#sets = new ParameterSets(codec);
    this.#gate = new KeyFrameGate(now);
    for (const nal of sets.flatMap(unitsOf)) this.#addSet(codec.roleOf(nal), nal);
    this.#hasBadSets = false;
  }

  read({ payload, marker, time }: TimedPayload): VideoFrame[] {
    const isNext = this.#picture !== undefined && this.#picture.time !== time;
    if (isNext && this.#picture?.isOnlyBegun === false) this.#endsUnmarked = true;
    if (this.#isMarkedAmidst && this.#picture?.time === time) this.#marksAll = true;
    const frames = isNext ? this.#finish() : [];
    frames.push(...this.#takeAll(this.#depacketizer.unpack(payload), time));
    this.#isMarkedAmidst = marker && !this.#depacketizer.mayEnd();
    if (!marker || this.#isMarkedAmidst || this.#marksAll) return frames;
    frames.push(...this.#takeRest());
    // Parameter sets and recovery points may be marked, but are no picture.
    if (this.#picture?.isOnlyBegun === true) return frames;
    this.#endsUnmarked = false;
    return [...frames, ...this.#end()];
  }

  gap(): void {
    this.#depacketizer.drop();
    this.#picture = undefined;
    this.#gate.close();
  }

  flush(): VideoFrame[] {
    if (this.#endsUnmarked) return [...this.#finish(), ...this.#gate.flush()];
    // The picture under assembly is incomplete.
    this.#depacketizer.drop();
    this.#picture = undefined;
    return this.#gate.flush();
  }

  /** Ends the picture under assembly, with the unit that is still open. */
  #finish(): VideoFrame[] {
    return [...this.#takeRest(), ...this.#end()];
  }

  /** Ends a unit whose last piece was not marked. */
  #takeRest(): VideoFrame[] {
    const time = this.#picture?.time;
    return time === undefined ? [] : this.#takeAll(this.#depacketizer.finish(), time);
  }

  /** @returns the pictures before that of these units */
  #takeAll(units: DepacketizedUnit, time: number): VideoFrame[] {
    const picture = (this.#picture ??= new AccessUnitBuilder(time));
    if (Array.isArray(units)) return units.flatMap(unitsOf).flatMap((nal) => this.#take(nal, time));
    if (units === 'unsupported') this.#passOver(UNSUPPORTED, time);
    else picture.spoil();
    if (units === 'too-large') this.#passOver(TOO_LARGE, time);
    return [];
  }

  #take(nal: Buffer, time: number): VideoFrame[] {
    const role = this.codec.roleOf(nal);
    const picture = (this.#picture ??= new AccessUnitBuilder(time));
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

  /** Also separates pictures by their first slices: time stamps and markers are not reliable. */
  #takeSlice(picture: AccessUnitBuilder, nal: Buffer): VideoFrame[] {
    const slice = this.codec.slice(nal);
    const field = slice?.isFirst === true ? this.#sets.fieldOf(nal, slice.pps) : undefined;
    if (slice?.isFirst === true && picture.isEndedBy(field)) {
      const next = new AccessUnitBuilder(picture.time);
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

  #takeHead(picture: AccessUnitBuilder | undefined, role: NalRole, nal: Buffer): void {
    if (role === 'recovery') picture?.addRecovery(nal);
    else this.#addSet(role, nal);
  }

  /** Skips a set that cannot be read: a good one may be known or follow. */
  #addSet(role: NalRole, nal: Buffer): void {
    if (role !== 'vps' && role !== 'sps' && role !== 'pps') return;
    if (!this.#sets.add(role, nal)) this.#hasBadSets = true;
  }

  /**
   * Ends the picture under assembly. @returns its frames, if none of its parts is missing
   * @param next takes over the units after its slices
   */
  #end(next?: AccessUnitBuilder): VideoFrame[] {
    const picture = this.#picture;
    this.#picture = next;
    if (picture === undefined) return [];
    const frames = this.#framesOf(picture);
    if (!picture.isEmpty || picture.isSpoilt) this.#lastEnded = picture.time;
    for (const nal of picture.behind) this.#takeHead(next, this.codec.roleOf(nal), nal);
    return frames;
  }

  #framesOf(picture: AccessUnitBuilder): VideoFrame[] {
    const { time, entry } = picture;
    const pps = picture.first?.pps;
    if (picture.isSpoilt) this.#gate.close();
    if (picture.isSpoilt || pps === undefined || this.fault !== undefined) return [];
    if (entry === undefined && !this.#isDescribed(pps)) this.#gate.close();
    const key = this.#gate.isBeginning(picture);
    // A new format begins with a key frame, so that players can begin there too.
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

  /** Waits for the next key frame, which may bring its parameter sets. */
  #withoutFormat(isKey: boolean, time: number): [] {
    this.#gate.close();
    if (isKey) this.#passOver(this.#hasBadSets ? UNREADABLE : UNDESCRIBED, time);
    return [];
  }

  /** Repeated faults, while no picture can be shown, are permanent. */
  #passOver(message: string, time: number): void {
    this.#faults += 1;
    const isLong = this.#gate.darkness(time) >= DARK;
    if (isLong && this.#faults >= MOST_FAULTS) this.fault ??= new RvmError('VIDEO_FAILED', message);
  }
}
