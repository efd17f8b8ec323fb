import { isRecord, type JsonRecord } from '../../json/json';
import { DIALECT } from '../dialect';
import { asText, firstField, firstText } from './json-field';
import { maskedStart } from '../secret-mask';
import { oneLine } from '../shown';

/** What can be learned from the body of an error answer. */
export interface ErrorBody {
  serverCode?: string;
  /** One clean line of at most 200 characters, without our secrets. */
  serverMessage?: string;
}

const MAX_MESSAGE = 200;
const MAX_CODE = 60;
/** A longer body is no JSON record with a message for people. */
const MAX_JSON = 16 * 1024;
/** Enough for any message; bounds the work on a huge error page. */
const MAX_READ = 4 * 1024;
/** A tag with its name, or the text up to the next one. Nothing that was passed is looked at again. */
const TAG_OR_TEXT = /<(\/?[a-z]*)[^<>]*>?|[^<]+/gi;

/**
 * Reads an error body of any kind: a record with code and message, problem details, a JSON text, an HTML page,
 * plain text or nothing. The specification shows no error body (section 7).
 */
export function readErrorBody(body: string, secrets: readonly string[]): ErrorBody {
  const parsed = body.length > MAX_JSON ? undefined : parseOrUndefined(body);
  const code = isRecord(parsed) ? codeOf(parsed) : undefined;
  const serverCode = oneLine(maskedStart(code ?? '', secrets, MAX_READ), MAX_CODE);
  const message = messageOf(parsed);
  const start = maskedStart(message ?? body, secrets, MAX_READ);
  const serverMessage = oneLine(message === undefined ? readable(start) : start, MAX_MESSAGE);
  return {
    ...(serverCode === '' ? {} : { serverCode }),
    ...(serverMessage === '' ? {} : { serverMessage }),
  };
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function codeOf(body: JsonRecord): string | undefined {
  const own = firstText(body, DIALECT.error.code);
  if (own !== undefined) return own;
  for (const inner of nestedRecords(body)) {
    const code = firstText(inner, [...DIALECT.error.codeName, ...DIALECT.error.code]);
    if (code !== undefined) return code;
  }
  return undefined;
}

function messageOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body;
  if (!isRecord(body)) return undefined;
  const own = firstText(body, DIALECT.error.message);
  if (own !== undefined) return own;
  for (const inner of nestedRecords(body)) {
    const message = firstText(inner, DIALECT.error.message);
    if (message !== undefined) return message;
  }
  return firstFieldError(firstField(body, ['errors']));
}

function nestedRecords(body: JsonRecord): JsonRecord[] {
  return DIALECT.error.nested.map((name) => firstField(body, [name])).filter(isRecord);
}

/** `errors` of problem details: a map from field to a list of texts, or a plain list. */
function firstFieldError(errors: unknown): string | undefined {
  const lists = isRecord(errors) ? Object.values(errors) : [errors];
  for (const list of lists) {
    const first: unknown = Array.isArray(list) ? list[0] : list;
    const text = isRecord(first) ? firstText(first, DIALECT.error.message) : asText(first);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** What a reader sees of a text that may be an HTML page: its title, else its text. */
function readable(text: string): string {
  if (!/^\s*</.test(text)) return text;
  const seen: string[] = [];
  let inside = '';
  for (const [piece, name] of text.matchAll(TAG_OR_TEXT)) {
    const hidden = inside === 'script' || inside === 'style';
    if (name !== undefined) {
      const tag = name.toLowerCase();
      if (!hidden || tag === `/${inside}`) inside = tag;
    } else if (inside === 'title' && piece.trim() !== '') {
      return piece;
    } else if (!hidden) {
      seen.push(piece);
    }
  }
  return seen.join(' ');
}
