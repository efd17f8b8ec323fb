/** Bytes that are kept: some dozen pictures of a common size. */
const MOST = 8 * 1024 * 1024;

/** By delivery id, oldest first. For the eye of an operator only, so that a restart may forget them. */
const pictures = new Map<string, Buffer>();
let held = 0;

/** Keeps the picture that was taken for an event, the last one of it. */
export function keepPicture(deliveryId: string, jpeg: Buffer): void {
  forget(deliveryId);
  pictures.set(deliveryId, jpeg);
  held += jpeg.byteLength;
  for (const oldest of pictures.keys()) {
    if (held <= MOST) return;
    forget(oldest);
  }
}

/** The picture that was taken for an event, if one was, and not long ago. */
export function pictureOf(deliveryId: string): Buffer | undefined {
  return pictures.get(deliveryId);
}

function forget(deliveryId: string): void {
  held -= pictures.get(deliveryId)?.byteLength ?? 0;
  pictures.delete(deliveryId);
}
