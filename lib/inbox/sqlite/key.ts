const REPLACEMENT = 0xfffd;
const HALF = 2 ** 32;

/** By which a message is looked for in memory. @param named, id as of a `NewMessage` */
export function messageKey(station: string, named: boolean, id: string): number {
  return keyOf(`${station}\n${Number(named)}${id}`);
}

/** By which an alarm is looked for in memory. */
export function alarmKey(station: string, alarm: string): number {
  return keyOf(`${station}\n${alarm}`);
}

/**
 * 48 bits of a text, the upper 16 of them never 0: two multiplicative hashes of its UTF-16 units, each mixed with the other at
 * the end. Of a million texts two hardly ever share a key; those that do are told apart in the file. Keys stand in the file:
 * another way to make them takes a step of its schema.
 */
function keyOf(text: string): number {
  let one = 0xdeadbeef;
  let other = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const unit = storable(text.charCodeAt(index));
    one = Math.imul(one ^ unit, 0x9e3779b1);
    other = Math.imul(other ^ unit, 0x5f356495);
  }
  const lower = mix(one) ^ mix(other ^ (other >>> 13));
  const upper = mix(other) ^ mix(one ^ (one >>> 13));
  return ((upper & 0xffff) | 1) * HALF + (lower >>> 0);
}

/** Lets every bit count in every other, as MurmurHash3 does at its end. */
function mix(bits: number): number {
  const once = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

/** The file keeps UTF-8, in which half of a surrogate pair is U+FFFD: a text has the same key before and after. */
function storable(unit: number): number {
  return (unit & 0xf800) === 0xd800 ? REPLACEMENT : unit;
}
