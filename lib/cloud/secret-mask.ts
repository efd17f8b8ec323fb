import { RvmError } from '../error';

const MASK = '***';
const RTSP_URL = /rtsps?:\/\/[^\s"'<>`]+/gi;

/** Shorter secrets are not searched: they would mask ordinary text and protect nothing. */
const SHORTEST = 3;
/** Shorter secrets are compared case-sensitively: in capitals they may be ordinary words. */
const SHORTEST_FOLDED = 6;

/** Beginnings of a secret that a stray `%`, `\` or `\u` before them turns into an escape. */
const SWALLOWED = /^(?:u?[\da-f]{4}|x[\da-f]{2}|[0-7]{3}|[\da-f]{2}|["\\/bfnrt])/i;
/** A spelling without its beginning is searched only if it is at least this long, so that it is no ordinary word. */
const SHORTEST_END = 8;
/** Shorter ones are not searched without white space: joined ordinary words could match them. */
const SHORTEST_SPLIT = 8;

/** Of a longer secret only the beginning is searched: it reveals the secret as well, and limits the text that is read. */
const LONGEST = 128;

/** Maximum length of one escaped character, such as `&#x0001f600;`, or one that was escaped twice. */
const LONGEST_ESCAPE = 24;
/** How often a text may have been escaped, in any mix of ways. */
const ROUNDS = 3;

type Escape = readonly [looks: RegExp, standsFor: (escape: string) => string];

/** The ways in which an answer may escape a text. */
const ESCAPES: readonly Escape[] = [
  [/&(?:#\d{1,9}|#x[\da-f]{1,8}|amp|lt|gt|quot|apos|shy);/gi, fromHtml],
  [/\\(?:u[\da-fA-F]{4}|["\\/bfnrt])/g, (escape) => String(JSON.parse(`"${escape}"`))],
  [/%u[\da-f]{4}/gi, (escape) => String.fromCharCode(parseInt(escape.slice(2), 16))],
  [/(?:%[\da-f]{2})+/gi, fromPercent],
  [/(?:\\(?:x[\da-f]{2}|[0-3][0-7]{2}))+/gi, fromBytes],
];
/** Form encoding. Separate, because elsewhere a `+` stands for itself. */
const FORM: Escape = [/(?:%[\da-f]{2})+|\+/gi, (escape) => (escape === '+' ? ' ' : fromPercent(escape))];

/** Characters that may be inside a secret that was wrapped or spelled letter by letter; and invisible ones. */
const UNSEEN = /[\s\p{Cc}\p{Cf}]+/gu;
/** Tags may be inside as well; but if `<` and `>` are no tags, the text between them may be the secret. */
const TAG = /<[^<>]*>/g;

const HTML_NAMES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['shy', '\u00ad'],
]);

/**
 * The beginning of a text of the service, at most `length` characters, without RTSP URLs; only `***` if it contains one of our
 * secrets in any spelling, because it may contain the secret in other spellings, too. The work is limited by `length` and the
 * number of secrets, however long the text and the secrets are.
 */
export function redact(text: string, secrets: readonly string[], length: number): string {
  const spellings = spellingsOf(secrets);
  const margin = LONGEST_ESCAPE * Math.max(0, ...spellings.map(({ text: spelling }) => spelling.length));
  const read = text.slice(0, length + margin);
  if (holdsOne(read, spellings)) return MASK;
  const masked = withoutUrls(read);
  // A secret may be cut at the end of the text that was read, and so not be found; its part is no longer than
  // the margin.
  const sure = read.length < text.length ? Math.max(0, masked.length - margin) : masked.length;
  return masked.slice(0, Math.min(length, sure));
}

/** One way to write a secret. */
interface Spelling {
  readonly text: string;
  /** The same without invisible characters; empty if too short to be searched that way. */
  readonly dense: string;
  /** Compared case-insensitively: then `text` is in lower case. */
  readonly isFolded: boolean;
}

/** Spellings of a secret: as it is, in base64 as in the header of a basic login, and in hexadecimal; the beginning of each. */
function spellingsOf(secrets: readonly string[]): Spelling[] {
  return [...new Set(secrets)]
    .filter((secret) => secret.length >= SHORTEST)
    .flatMap((secret) => {
      // Longer than the part that is searched, so that no spelling ends in a way only a cut secret would.
      const bytes = Buffer.from(secret.slice(0, 2 * LONGEST), 'utf8');
      return [secret, ...base64Of(bytes), bytes.toString('hex')];
    })
    .map((text) => {
      const isFolded = text.length >= SHORTEST_FOLDED;
      return spellingOf((isFolded ? text.toLowerCase() : text).slice(0, LONGEST), isFolded);
    });
}

function spellingOf(text: string, isFolded: boolean): Spelling {
  const dense = withoutUnseen(text);
  return { text, isFolded, dense: dense.length < SHORTEST_SPLIT ? '' : dense };
}

function withoutUnseen(text: string): string {
  return text.replace(UNSEEN, '');
}

/** Bytes in base64, alone and after other bytes: there also without the digits that depend on neighbouring bytes. */
function base64Of(bytes: Buffer): Set<string> {
  const all = new Set<string>();
  for (const coding of ['base64', 'base64url'] as const) {
    all.add(bytes.toString(coding));
    for (const before of [0, 1, 2]) {
      const digits = Buffer.concat([Buffer.alloc(before), bytes]).toString(coding);
      const own = digits.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
      if (own.length >= SHORTEST_END) all.add(own);
    }
  }
  return all;
}

/** True if a text contains one of them, as it is or after some escapes were undone. */
function holdsOne(text: string, spellings: readonly Spelling[]): boolean {
  if (spellings.length === 0) return false;
  // Also in the text as it is, which may be the output of a JSON parser.
  const orEnds = [...spellings, ...spellings.flatMap(endOf)];
  const stages = [...unescaped(text)];
  if (stages.some((stage) => holds(stage, orEnds))) return true;
  const dense = orEnds.map((spelling) => spelling.dense).filter((spelling) => spelling !== '');
  // White space may separate the escapes, and may be escaped itself.
  return [...stages, ...unescaped(withoutUnseen(text))].some((stage) => holdsDense(stage, dense));
}

/** The rest of a spelling whose beginning was wrongly decoded as an escape. */
function endOf({ text, isFolded }: Spelling): Spelling[] {
  const end = text.replace(SWALLOWED, '');
  return end === text || end.length < SHORTEST_END ? [] : [spellingOf(end, isFolded)];
}

/** The text as it is, and after each further step of undoing escapes. */
function unescaped(text: string): Set<string> {
  const stages = new Set([text]);
  let stage = text;
  let former: string | undefined;
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [escapes, decode] of ESCAPES) {
      if (stage !== former) stages.add(stage.replace(...FORM));
      former = stage;
      stages.add((stage = stage.replace(escapes, decode)));
    }
  return stages;
}

function holds(text: string, spellings: readonly Spelling[]): boolean {
  const folded = text.toLowerCase();
  return spellings.some(({ text: spelling, isFolded }) => (isFolded ? folded : text).includes(spelling));
}

function holdsDense(text: string, spellings: readonly string[]): boolean {
  const dense = withoutUnseen(text.toLowerCase());
  const untagged = dense.replace(TAG, '');
  return spellings.some((spelling) => dense.includes(spelling) || untagged.includes(spelling));
}

/** A text with an escaped URL is shown without the escapes. */
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

/** Escapes as in C: characters beyond ASCII byte by byte. */
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

/** Shorter ones may be ordinary words of our own error texts. */
const SHORTEST_QUOTED = 8;

/**
 * An error without secrets. Its text may quote the service's name of a camera, a preset or a relation, and so contain a secret:
 * then only the code is shown.
 */
export function redactError(error: RvmError, secrets: readonly string[]): RvmError {
  const { code, message, cause } = error;
  const sought = secrets.filter((secret) => secret.length >= SHORTEST_QUOTED);
  if (redact(message, sought, Infinity) === message) return error;
  return new RvmError(
    code,
    `The text of this error held one of your secrets, so it is not shown: look up its code, ${code}.`,
    cause,
  );
}

/** Maximum number of characters quoted from the service or a flow. */
const MAX_QUOTED = 80;

/** A text of the service for a message: quoted, one short line, RTSP URLs shown as `***`. */
export function quote(text: string): string {
  return `"${quoteBare(text, MAX_QUOTED)}"`;
}

/** The same without quotes. */
export function quoteBare(text: string, length: number): string {
  return oneLine(redact(text, [], 4 * length), length);
}

export function oneLine(text: string, length: number): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, length);
}
