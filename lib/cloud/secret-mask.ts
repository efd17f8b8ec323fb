const MASK = '***';
const RTSP_URL = /rtsps?:\/\/[^\s"'<>`]+/gi;

/** Secrets shorter than this are not looked for: they would blank out ordinary text and protect nothing. */
const SHORTEST = 3;
/** Of shorter ones the letters count as they are: in capitals they may be ordinary words. */
const SHORTEST_FOLDED = 6;

/** Beginnings of a secret that a stray `%`, `\` or `\u` before it turns into an escape. */
const SWALLOWED = /^(?:u?[\da-f]{4}|x[\da-f]{2}|[0-7]{3}|[\da-f]{2}|["\\/bfnrt])/i;
/** What is left of a spelling without its beginning is looked for where it is no ordinary word. */
const SHORTEST_END = 8;
/** Of shorter ones ordinary words may be made where the blanks between them are left out. */
const SHORTEST_SPLIT = 8;
/** What may stand within a secret that was wrapped, or spelled letter by letter; also what nobody sees. */
const BLANKS = /[\s\u00ad\u200b-\u200d\u2060]+/g;

/** The most that one character takes up where it is escaped, such as `&#x0001f600;`, or escaped again. */
const LONGEST_ESCAPE = 24;
/** So often a text may have been escaped, in whatever ways. */
const ROUNDS = 3;

type Escape = readonly [looks: RegExp, standsFor: (escape: string) => string];

/** The ways in which an answer may escape a text. */
const ESCAPES: readonly Escape[] = [
  [/&(?:#\d{1,9}|#x[\da-f]{1,8}|amp|lt|gt|quot|apos);/gi, fromHtml],
  [/\\(?:u[\da-fA-F]{4}|["\\/bfnrt])/g, (escape) => String(JSON.parse(`"${escape}"`))],
  [/%u[\da-f]{4}/gi, (escape) => String.fromCharCode(parseInt(escape.slice(2), 16))],
  [/(?:%[\da-f]{2})+/gi, fromPercent],
  [/(?:\\(?:x[\da-f]{2}|[0-3][0-7]{2}))+/gi, fromBytes],
];
/** As a form does it. Apart, for elsewhere a `+` stands for itself. */
const FORM: Escape = [/(?:%[\da-f]{2})+|\+/gi, (escape) => (escape === '+' ? ' ' : fromPercent(escape))];

const HTML_NAMES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

/**
 * The beginning of a text of the service, at most `length` characters, without RTSP URLs; `***` alone where one of our secrets is
 * in it, however it is spelled: who repeats one way may repeat others. However long the text is, the work is bounded by `length`
 * and the secrets.
 */
export function maskedStart(text: string, secrets: readonly string[], length: number): string {
  const spellings = spellingsOf(secrets);
  const margin = LONGEST_ESCAPE * Math.max(0, ...spellings.map(({ text: spelling }) => spelling.length));
  const read = text.slice(0, length + margin);
  if (holdsOne(read, spellings)) return MASK;
  const masked = withoutUrls(read);
  // At the end of what was read a secret may be cut and so not be found; its half is no longer than the margin.
  const sure = read.length < text.length ? Math.max(0, masked.length - margin) : masked.length;
  return masked.slice(0, Math.min(length, sure));
}

/** One way to write a secret. */
interface Spelling {
  readonly text: string;
  /** The same without blanks; empty where it is too short to be looked for so. */
  readonly dense: string;
  /** Capitals or not: then `text` is in small letters. */
  readonly isFolded: boolean;
}

/** A secret as it is, as it stands in the header of a basic login, and its bytes in hexadecimal digits. */
function spellingsOf(secrets: readonly string[]): Spelling[] {
  return secrets
    .filter((secret) => secret.length >= SHORTEST)
    .flatMap((secret) => {
      const bytes = Buffer.from(secret, 'utf8');
      return [secret, bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')];
    })
    .map((text) => {
      const isFolded = text.length >= SHORTEST_FOLDED;
      return spellingOf(isFolded ? text.toLowerCase() : text, isFolded);
    });
}

function spellingOf(text: string, isFolded: boolean): Spelling {
  const dense = withoutBlanks(text);
  return { text, isFolded, dense: dense.length < SHORTEST_SPLIT ? '' : dense };
}

function withoutBlanks(text: string): string {
  return text.replace(BLANKS, '');
}

/** True where a text holds one of them, as it is or after some of the escapes were undone. */
function holdsOne(text: string, spellings: readonly Spelling[]): boolean {
  if (spellings.length === 0) return false;
  // In the text as it is too, which may be what a parser of JSON made of another.
  const orEnds = [...spellings, ...spellings.flatMap(endOf)];
  const stages = [...unescaped(text)];
  if (stages.some((stage) => holds(stage, orEnds))) return true;
  const dense = orEnds.map((spelling) => spelling.dense).filter((spelling) => spelling !== '');
  // Blanks may part the escapes, and may be escaped themselves.
  return [...stages, ...unescaped(withoutBlanks(text))].some((stage) => holdsDense(stage, dense));
}

/** What stays of a spelling whose beginning was taken for an escape that it is not. */
function endOf({ text, isFolded }: Spelling): Spelling[] {
  const end = text.replace(SWALLOWED, '');
  return end === text || end.length < SHORTEST_END ? [] : [spellingOf(end, isFolded)];
}

/** A text as it is, and with one more way of escaping undone each time. */
function unescaped(text: string): Set<string> {
  const stages = new Set([text]);
  let stage = text;
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [escapes, decode] of ESCAPES) {
      stages.add(stage.replace(...FORM));
      stages.add((stage = stage.replace(escapes, decode)));
    }
  return stages;
}

function holds(text: string, spellings: readonly Spelling[]): boolean {
  const folded = text.toLowerCase();
  return spellings.some(({ text: spelling, isFolded }) => (isFolded ? folded : text).includes(spelling));
}

function holdsDense(text: string, spellings: readonly string[]): boolean {
  const dense = withoutBlanks(text.toLowerCase());
  return spellings.some((spelling) => dense.includes(spelling));
}

/** A text in which an escaped URL is found is shown without the escapes. */
function withoutUrls(text: string): string {
  let shown = text.replace(RTSP_URL, MASK);
  for (const [escapes, decode] of [...ESCAPES, FORM]) {
    const decoded = shown.replace(escapes, decode);
    const masked = decoded.replace(RTSP_URL, MASK);
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

/** As C writes them: of characters beyond ASCII one by one the bytes. */
function fromBytes(escapes: string): string {
  const bytes = escapes.slice(1).split('\\');
  const isHex = (byte: string): boolean => /^x/i.test(byte);
  return Buffer.from(
    bytes.map((byte) => (isHex(byte) ? parseInt(byte.slice(1), 16) : parseInt(byte, 8))),
  ).toString('utf8');
}

function fromPercent(escapes: string): string {
  return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8');
}
