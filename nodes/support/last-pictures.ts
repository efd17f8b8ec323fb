/** Bytes that are kept: some dozen pictures of a common size. */
const MOST = 8 * 1024 * 1024;

/** What a picture shows: the alarm, or the camera some time after it. */
export type PictureKind = 'alarm' | 'live';

interface Kept {
  kind: PictureKind;
  jpeg: Buffer;
}

/** By delivery id, oldest first. For the eye of an operator only, so that a restart may forget them. */
const pictures = new Map<string, Kept>();
let held = 0;

/** Keeps the picture that was taken for an event, the last one of it; one of the alarm itself goes before one that was live. */
export function keepPicture(deliveryId: string, jpeg: Buffer, kind: PictureKind): void {
  if (kind === 'live' && pictures.get(deliveryId)?.kind === 'alarm') return;
  forget(deliveryId);
  pictures.set(deliveryId, { kind, jpeg });
  held += jpeg.byteLength;
  for (const oldest of pictures.keys()) {
    if (held <= MOST) return;
    forget(oldest);
  }
}

/** The picture that was taken for an event, if one was, and not long ago. */
export function pictureOf(deliveryId: string): Buffer | undefined {
  return pictures.get(deliveryId)?.jpeg;
}

/** What that picture shows; undefined where there is none. */
export function pictureKindOf(deliveryId: string): PictureKind | undefined {
  return pictures.get(deliveryId)?.kind;
}

function forget(deliveryId: string): void {
  held -= pictures.get(deliveryId)?.jpeg.byteLength ?? 0;
  pictures.delete(deliveryId);
}
