/** Most characters of a value, escapes counted as they are written: ids are far shorter. */
const VALUE = String.raw`[ \t\r\n]{0,8}:[ \t\r\n]{0,8}("(?:[^"\\]|\\[^]){0,256}")`;

/** Each with either case of its first letter, as in `field-names`. No pattern can be read in two ways, so none takes long. */
const PATTERNS = {
  agentUserId: new RegExp(`"[aA]gentUserId"${VALUE}`, 'g'),
  alarmId: new RegExp(`"[aA]larmId"${VALUE}`, 'g'),
};

/**
 * What seems to be the text of a field, wherever it stands in bytes that nobody has proved: at most so many, in order. Nothing
 * is parsed but these texts, and a stranger's bytes take no longer than others: a millisecond or two for 1 MiB. It may be wrong
 * (a field of the same name elsewhere, a name in escapes), so it may only tell what is looked at first.
 */
export function seemingTexts(body: Uint8Array, field: keyof typeof PATTERNS, most: number): string[] {
  const pattern = PATTERNS[field];
  // One character a byte: what follows a byte that is no UTF-8 is found all the same.
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1');
  const texts: string[] = [];
  pattern.lastIndex = 0;
  for (let tries = 0; tries < most; tries++) {
    const literal = pattern.exec(text)?.[1];
    if (literal === undefined) break;
    const value = textOf(literal);
    if (value !== undefined) texts.push(value);
  }
  return texts;
}

/** Undefined where it is no JSON, such as one with a line feed. */
function textOf(literal: string): string | undefined {
  try {
    return String(JSON.parse(Buffer.from(literal, 'latin1').toString('utf8')));
  } catch {
    return undefined;
  }
}
