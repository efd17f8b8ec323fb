/** A picture of one grey dot is more than any test looks at: a JPEG begins with FF D8 and ends with FF D9. */
export const JPEG = Buffer.from(
  'ffd8ffe000104a46494600010100000100010000ffdb004300' + '10'.repeat(64) + 'ffc0000b080001000101011100ffd9',
  'hex',
);

/** When a picture was taken. */
export const PICTURE_TIME = '2026-11-21T09:59:58.250Z';

/** A body of the type `multipart/mixed`, its pictures each with a `Time:` line. */
export function multipart(boundary: string, pictures: readonly { jpeg: Buffer; time: string }[]): Buffer {
  const parts = pictures.flatMap(({ jpeg, time }) => [
    Buffer.from(
      `\r\n--${boundary}\r\nContent-Type: image/jpeg\r\nTime: ${time}\r\nContent-Length: ${jpeg.length}\r\n\r\n`,
    ),
    jpeg,
  ]);
  return Buffer.concat([...parts, Buffer.from(`\r\n--${boundary}--\r\n`)]);
}
