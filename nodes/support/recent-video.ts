import type { RvmErrorCode } from '../../lib/error';
import { cutText, MOST_OF_NAME } from '../../lib/inbox/model';
import { isRecord } from '../../lib/json/json';
import { cameraOf, type VideoSource } from '../../lib/video/sessions/session-slots';
import type { VideoFacts } from '../../lib/watch/findings';

/** Maximum of cached bytes: some dozen pictures of a common size. */
const MOST_PICTURE_BYTES = 8 * 1024 * 1024;

/** Content of a picture: the alarm, or the camera some time after it. */
export type PictureKind = 'alarm' | 'live';

/** Source of a picture: key of the Central Station and id of the camera. */
interface PictureOf {
  station: string;
  /** Undefined where the event names no camera. */
  camera: string | undefined;
}

interface CachedVideo {
  kind: PictureKind;
  jpeg: Buffer;
  of: PictureOf;
}

/**
 * By delivery id, or by camera where there is no event; oldest first. In memory only: operators merely glance at them, so a
 * restart may lose them.
 */
const pictures = new Map<string, CachedVideo>();
let bytes = 0;

/**
 * Caches the last picture of an event; a picture of the alarm is not replaced by a live one.
 * @param deliveryId '' without an event: the last picture of the camera is cached then, of either kind
 */
export function keepPicture(deliveryId: string, jpeg: Buffer, kind: PictureKind, of: PictureOf): void {
  const key = deliveryId === '' ? JSON.stringify([of.station, of.camera]) : deliveryId;
  if (deliveryId !== '' && kind === 'live' && pictures.get(key)?.kind === 'alarm') return;
  forget(key);
  pictures.set(key, { kind, jpeg, of });
  bytes += jpeg.byteLength;
  for (const oldest of pictures.keys()) {
    if (bytes <= MOST_PICTURE_BYTES) return;
    forget(oldest);
  }
}

/** The last picture of a camera, if it is still cached. */
export function lastPictureOf({ station, camera }: PictureOf): Buffer | undefined {
  return [...pictures.values()].reverse().find(({ of }) => of.station === station && of.camera === camera)
    ?.jpeg;
}

/** The picture of an event, if it is still cached. */
export function pictureOf(deliveryId: string): Buffer | undefined {
  return pictures.get(deliveryId)?.jpeg;
}

/** Kind of the cached picture; undefined where there is none. */
export function pictureKindOf(deliveryId: string): PictureKind | undefined {
  return pictures.get(deliveryId)?.kind;
}

function forget(key: string): void {
  bytes -= pictures.get(key)?.jpeg.byteLength ?? 0;
  pictures.delete(key);
}

type MissingRecording = Omit<VideoFacts, 'id'>;

/** Milliseconds. An entry expires after a day: it may never be requested again, and says nothing about the present then. */
const LASTS = 24 * 60 * 60 * 1000;
const MOST_MISSING = 1000;

/** Station keys by client. */
const keys = new WeakMap<object, string>();
/** By station and camera, oldest first. Survives a deploy, which cures nothing. */
const missing = new Map<string, MissingRecording>();

/** Sets the station key of a client, so that its requests count for the station. */
export function nameClient(client: object, key: string): void {
  keys.set(client, key);
}

/** Notes the result of a request for a recording, by any node or page; `failure` is undefined after success. */
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

/** Restores an entry of the last run of Node-RED. */
export function rememberRecording(id: string, found: MissingRecording): void {
  keep(id, found);
}

/** By an id that stays the same over a restart. */
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
