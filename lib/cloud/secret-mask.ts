const MASK = '***';
const RTSP_URL = /rtsps?:\/\/[^\s"'<>`]+/gi;

/** Secrets shorter than this are not looked for: they would blank out ordinary text and protect nothing. */
const SHORTEST = 3;

/** The most that one character takes up where it is escaped, such as `&#x0001f600;`. */
const LONGEST_ESCAPE = 12;

/**
 * The ways in which an answer may escape a text: what an escape looks like, and what it stands for. The order
 * matters: a `+` must not become a space before the other ways have been tried.
 */
const ESCAPES: readonly (readonly [RegExp, (escape: string) => string])[] = [
  [/&(?:#\d{1,9}|#x[\da-f]{1,8}|amp|lt|gt|quot|apos);/gi, fromHtml],
  [/\\(?:u[\da-fA-F]{4}|["\\/bfnrt])/g, (escape) => String(JSON.parse(`"${escape}"`))],
  [/(?:%[\da-f]{2})+/gi, fromPercent],
  [/(?:%[\da-f]{2})+|\+/gi, (escape) => (escape === '+' ? ' ' : fromPercent(escape))],
];

const HTML_NAMES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

/**
 * The beginning of a text of the service, at most `length` characters, without our secrets and RTSP URLs. They are
 * taken out before the text is cut, so that no half of one stands at its end. However long the text is, the work is
 * bounded by `length` and the secrets.
 */
export function maskedStart(text: string, secrets: readonly string[], length: number): string {
  const spellings = spellingsOf(secrets);
  const margin = LONGEST_ESCAPE * (spellings[0]?.length ?? 0);
  const read = text.slice(0, length + margin);
  const masked = maskEscaped(mask(read, spellings), spellings);
  // At the end of what was read a secret may be cut and so not be found; its half is no longer than the margin.
  const sure = read.length < text.length ? Math.max(0, masked.length - margin) : masked.length;
  return masked.slice(0, Math.min(length, sure));
}

/** A secret as it is, and as it stands in the header of a basic login. */
function spellingsOf(secrets: readonly string[]): string[] {
  const spellings = secrets
    .filter((secret) => secret.length >= SHORTEST)
    .flatMap((secret) => {
      const bytes = Buffer.from(secret, 'utf8');
      return [secret, bytes.toString('base64'), bytes.toString('base64url')];
    });
  // Longest first: a secret that contains another one must not leave its rest behind.
  return spellings.sort((a, b) => b.length - a.length);
}

function mask(text: string, spellings: readonly string[]): string {
  let masked = text.replace(RTSP_URL, MASK);
  for (const spelling of spellings) masked = masked.replaceAll(spelling, MASK);
  return masked;
}

/** A text in which an escaped secret is found is shown without the escapes. */
function maskEscaped(text: string, spellings: readonly string[]): string {
  let shown = text;
  for (const [escapes, decode] of ESCAPES) {
    const decoded = shown.replace(escapes, decode);
    const masked = mask(decoded, spellings);
    if (masked !== decoded) shown = masked;
  }
  return shown;
}

function fromHtml(escape: string): string {
  const name = escape.slice(1, -1).toLowerCase();
  if (!name.startsWith('#')) return HTML_NAMES.get(name) ?? escape;
  const point = Number(name.startsWith('#x') ? `0x${name.slice(2)}` : name.slice(1));
  return point <= 0x10ffff ? String.fromCodePoint(point) : escape;
}

function fromPercent(escapes: string): string {
  return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8');
}
