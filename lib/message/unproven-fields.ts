import { textOfLiteral } from '../json/scan';

/** Each with either case of its first letter, as in `field-names`. */
const NAMES = {
  agentUserId: ['"agentUserId"', '"AgentUserId"'],
  alarmId: ['"alarmId"', '"AlarmId"'],
} as const;

/** What follows a name. The characters of a value are bounded, escapes counted as they are written: ids are far shorter. */
const VALUE = /^[ \t\r\n]{0,8}:[ \t\r\n]{0,8}("(?:[^"\\]|\\[^]){0,256}")/;
/** No value ends farther behind its name than so many bytes. */
const MAX_REACH = 8 + 1 + 8 + 2 + 2 * 256;

/**
 * What seems to be the text of a field, wherever it stands in bytes that nobody has proved: so many names are looked at, in order.
 * Nothing is parsed but their texts, and the names are searched as bytes, so a stranger's take no longer than others: less than
 * a millisecond for 1 MiB. It may be wrong (a field of the same name elsewhere, a name in escapes), so it may only tell what is
 * looked at first.
 */
export function seemingTexts(body: Uint8Array, field: keyof typeof NAMES, most: number): string[] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  return NAMES[field]
    .flatMap((name) => endsOf(name, bytes, most))
    .sort((one, other) => one - other)
    .slice(0, most)
    .map((end) => textAt(bytes, end))
    .filter((text) => text !== undefined);
}

/** Where a name ends, in bytes: so many times at the most. */
function endsOf(name: string, bytes: Buffer, most: number): number[] {
  const ends: number[] = [];
  let at = bytes.indexOf(name);
  while (at >= 0 && ends.length < most) {
    ends.push(at + name.length);
    at = bytes.indexOf(name, at + name.length);
  }
  return ends;
}

/** The text behind a name. Undefined where there is none, or it is no JSON, such as one with a line feed. */
function textAt(bytes: Buffer, end: number): string | undefined {
  // One character a byte: what stands behind bytes that are no UTF-8 is found all the same.
  const literal = VALUE.exec(bytes.toString('latin1', end, end + MAX_REACH))?.[1];
  return literal === undefined ? undefined : textOfLiteral(Buffer.from(literal, 'latin1').toString('utf8'));
}
