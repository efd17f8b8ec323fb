import type { RvmErrorCode } from '../../lib/error';
import { cutText, MOST_OF_NAME } from '../../lib/inbox/history';
import { isRecord } from '../../lib/json/json';
import { cameraOf, type VideoSource } from '../../lib/video/sessions/session-slots';
import type { VideoFacts } from '../../lib/watch/findings';

/** Bytes that are kept: some dozen pictures of a common size. */
const MOST_PICTURE_BYTES = 8 * 1024 * 1024;

/** What a picture shows: the alarm, or the camera some time after it. */
export type PictureKind = 'alarm' | 'live';

/** Whose picture it is: of a Central Station, by its key, and of one of its cameras, by its id. */
interface PictureOf {
  station: string;
  /** Undefined where its event does not say. */
  camera: string | undefined;
}

interface Kept {
  kind: PictureKind;
  jpeg: Buffer;
  of: PictureOf;
}

/** By delivery id, or by the camera where it is of no event, oldest first. For the eye of an operator only, so that a restart may forget them. */
const pictures = new Map<string, Kept>();
let held = 0;

/**
 * Keeps the picture that was taken, the last one of its event; one of the alarm itself goes before one that was live.
 * @param deliveryId '' where it is of no event: the last one of its camera is kept then, whatever it shows
 */
export function keepPicture(deliveryId: string, jpeg: Buffer, kind: PictureKind, of: PictureOf): void {
  const place = deliveryId === '' ? JSON.stringify([of.station, of.camera]) : deliveryId;
  if (deliveryId !== '' && kind === 'live' && pictures.get(place)?.kind === 'alarm') return;
  forget(place);
  pictures.set(place, { kind, jpeg, of });
  held += jpeg.byteLength;
  for (const oldest of pictures.keys()) {
    if (held <= MOST_PICTURE_BYTES) return;
    forget(oldest);
  }
}

/** The last picture that was taken of a camera, if one was, and not long ago. */
export function lastPictureOf({ station, camera }: PictureOf): Buffer | undefined {
  return [...pictures.values()].reverse().find(({ of }) => of.station === station && of.camera === camera)
    ?.jpeg;
}

/** The picture that was taken for an event, if one was, and not long ago. */
export function pictureOf(deliveryId: string): Buffer | undefined {
  return pictures.get(deliveryId)?.jpeg;
}

/** What that picture shows; undefined where there is none. */
export function pictureKindOf(deliveryId: string): PictureKind | undefined {
  return pictures.get(deliveryId)?.kind;
}

function forget(place: string): void {
  held -= pictures.get(place)?.jpeg.byteLength ?? 0;
  pictures.delete(place);
}

type MissingRecording = Omit<VideoFacts, 'id'>;

/** Nobody may ever ask again: a day later it says nothing of now. Milliseconds. */
const LASTS = 24 * 60 * 60 * 1000;
const MOST_MISSING = 1000;

/** Short names of stations by their clients. */
const keys = new WeakMap<object, string>();
/** By station and camera, oldest first: a deploy cures none. */
const missing = new Map<string, MissingRecording>();

/** The client of a station: what is asked of it is asked of the station. */
export function nameClient(client: object, key: string): void {
  keys.set(client, key);
}

/** What came of a recording that was asked for, by whichever node or page; undefined where it was had. */
export function noteRecording({ client, wanted }: VideoSource, failure: RvmErrorCode | undefined): void {
  const station = keys.get(client);
  if (station === undefined || wanted.mode === 'live') return;
  const id = cutText(cameraOf(wanted), MOST_OF_NAME);
  if (failure === undefined) missing.delete(`${station}/${id}`);
  if (failure !== 'VIDEO_NOT_YET') return;
  const name = wanted.mode === 'event' && isRecord(wanted.event) ? wanted.event.cameraName : undefined;
  const camera = typeof name === 'string' && name !== '' ? name : id;
  keep(`${station}/${id}`, {
    station,
    camera: cutText(camera, MOST_OF_NAME),
    since: new Date().toISOString(),
  });
}

/** One that the last run of Node-RED has found. */
export function rememberRecording(id: string, found: MissingRecording): void {
  keep(id, found);
}

/** By an id that is the same from one run to the next. */
export function missingRecordings(): ReadonlyMap<string, MissingRecording> {
  for (const [id, { since }] of missing) if (Date.now() - Date.parse(since) > LASTS) missing.delete(id);
  return missing;
}

function keep(id: string, found: MissingRecording): void {
  if (missing.has(id)) return;
  missing.set(id, found);
  const [oldest] = missing.keys();
  if (missing.size > MOST_MISSING && oldest !== undefined) missing.delete(oldest);
}
