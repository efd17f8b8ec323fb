import { DIALECT } from './dialect';
import { asText, firstField, firstText, isRecord, type JsonRecord } from './json-record';
import { maskSecrets } from './secret-mask';

/** What can be learned from the body of an error answer. */
export interface ErrorBody {
  serverCode?: string;
  /** One clean line of at most 200 characters, without our secrets. */
  serverMessage?: string;
}

const MAX_MESSAGE = 200;
const MAX_CODE = 60;
/** Enough for any message; bounds the work on a huge error page. */
const MAX_READ = 64 * 1024;

/**
 * Reads an error body of any kind: a record with code and message, problem details, a JSON text, an HTML page,
 * plain text or nothing. The specification shows no error body (section 7).
 */
export function readErrorBody(body: string, secrets: readonly string[]): ErrorBody {
  const text = body.slice(0, MAX_READ);
  const parsed = parseOrUndefined(text);
  const code = isRecord(parsed) ? codeOf(parsed) : undefined;
  const serverCode = code === undefined ? '' : clean(code, secrets, MAX_CODE);
  const serverMessage = clean(messageOf(parsed) ?? readable(text), secrets, MAX_MESSAGE);
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

function readable(text: string): string {
  if (!/^\s*</.test(text)) return text;
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim();
  if (title !== undefined && title !== '') return title;
  return text.replace(/<(script|style)\b[\s\S]*?<\/\1\s*>/gi, ' ').replace(/<[^>]*>/g, ' ');
}

function clean(text: string, secrets: readonly string[], length: number): string {
  // Masked before it is cut, so that no piece of a secret survives at the edge.
  return maskSecrets(text, secrets)
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, length);
}
