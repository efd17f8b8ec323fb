import { RvmError } from '../error';

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

/** Of a longer secret the beginning is looked for: it tells the secret as well, and bounds how much of a text is read. */
const LONGEST = 128;

/** The most that one character takes up where it is escaped, such as `&#x0001f600;`, or escaped again. */
const LONGEST_ESCAPE = 24;
/** So often a text may have been escaped, in whatever ways. */
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
/** As a form does it. Apart, for elsewhere a `+` stands for itself. */
const FORM: Escape = [/(?:%[\da-f]{2})+|\+/gi, (escape) => (escape === '+' ? ' ' : fromPercent(escape))];

/** What may stand within a secret that was wrapped, or spelled letter by letter; and what nobody sees. */
const UNSEEN = /[\s\p{Cc}\p{Cf}]+/gu;
/** So may these; but where `<` and `>` are no tags, the secret may be what is between. */
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
 * The beginning of a text of the service, at most `length` characters, without RTSP URLs; `***` alone where one of our secrets is
 * in it, however it is spelled: who repeats one way may repeat others. However long the text and the secrets are, the work is
 * bounded by `length` and by how many secrets there are.
 */
export function redact(text: string, secrets: readonly string[], length: number): string {
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
  /** The same without what is not seen; empty where it is too short to be looked for so. */
  readonly dense: string;
  /** Capitals or not: then `text` is in small letters. */
  readonly isFolded: boolean;
}

/** A secret as it is, as it stands in the header of a basic login, and its bytes in hexadecimal digits: of each the beginning. */
function spellingsOf(secrets: readonly string[]): Spelling[] {
  return [...new Set(secrets)]
    .filter((secret) => secret.length >= SHORTEST)
    .flatMap((secret) => {
      // Longer than what is looked for, so that no spelling ends as only a cut secret would.
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

/** As bytes stand in base64 alone, and behind others: there without the digits that tell of those beside them, too. */
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

/** True where a text holds one of them, as it is or after some of the escapes were undone. */
function holdsOne(text: string, spellings: readonly Spelling[]): boolean {
  if (spellings.length === 0) return false;
  // In the text as it is too, which may be what a parser of JSON made of another.
  const orEnds = [...spellings, ...spellings.flatMap(endOf)];
  const stages = [...unescaped(text)];
  if (stages.some((stage) => holds(stage, orEnds))) return true;
  const dense = orEnds.map((spelling) => spelling.dense).filter((spelling) => spelling !== '');
  // Blanks may part the escapes, and may be escaped themselves.
  return [...stages, ...unescaped(withoutUnseen(text))].some((stage) => holdsDense(stage, dense));
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

/** Shorter ones may be ordinary words of our own sentences. */
const SHORTEST_QUOTED = 8;

/**
 * An error as it may be told. It may quote what the service calls a camera, a preset or a relation, and so a secret: then only its
 * code is told.
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

/** Of a text of the service or of a flow no more is quoted. */
const MAX_QUOTED = 80;

/** A text of the service in a message: quoted, one short line, RTSP URLs shown as `***`. */
export function quote(text: string): string {
  return `"${quoteBare(text, MAX_QUOTED)}"`;
}

/** The same without the quotes, of at most so many characters. */
export function quoteBare(text: string, length: number): string {
  return oneLine(redact(text, [], 4 * length), length);
}

/** A text as one line of at most so many characters. */
export function oneLine(text: string, length: number): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, length);
}
