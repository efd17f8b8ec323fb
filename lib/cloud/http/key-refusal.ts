import { DIALECT } from '../dialect';
import type { ErrorBody } from './error-body';

/** Enough for any message; bounds the work on a huge error page. */
const MAX_READ = 4 * 1024;

const { names, word } = DIALECT.apiKey;

/**
 * True where the body of an answer says that it is the API key, and not something else, that is wrong.
 * @param said what it says of an error
 */
export function namesApiKey(body: string, { serverCode = '', serverMessage = '' }: ErrorBody): boolean {
  const joined = body
    .slice(0, MAX_READ)
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '');
  if (names.some((name) => joined.includes(name))) return true;
  return [serverCode, serverMessage].flatMap(wordsIn).includes(word);
}

/** In small letters, those of `InvalidKey` as well. What is but the name of a JSON field says nothing. */
function wordsIn(text: string): string[] {
  return text
    .replaceAll(/"[^"]*"\s*:/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
}
