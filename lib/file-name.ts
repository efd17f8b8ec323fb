/** Bytes of a name in a file name, which has 255 at most on most disks. */
const LONGEST_NAME = 120;

/** Letters, digits and single dashes of the name of a camera, and the time to the second: safe as the name of a file. */
export function fileNameOf(name: string, time: Date, extension: string): string {
  let safe = '';
  const words = name.slice(0, LONGEST_NAME).normalize('NFC');
  for (const part of words.split(/[^\p{L}\p{N}]+/u)) {
    const longer = safe === '' ? part : `${safe}-${part}`;
    if (part !== '' && Buffer.byteLength(longer) <= LONGEST_NAME) safe = longer;
  }
  const stamp = time.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `${safe === '' ? 'camera' : safe}-${stamp}.${extension}`;
}
