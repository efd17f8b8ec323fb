/** Bytes that are kept: some dozen pictures of a common size. */
const MOST = 8 * 1024 * 1024;

/** What a picture shows: the alarm, or the camera some time after it. */
export type PictureKind = 'alarm' | 'live';

/** Whose picture it is: of a Central Station, by its key, and of one of its cameras, by its id. */
export interface PictureOf {
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
    if (held <= MOST) return;
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
