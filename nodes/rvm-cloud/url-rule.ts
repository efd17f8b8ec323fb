import { variableIn } from '../../lib/text';

// Server and dialogs share this file.

/** The word in `url` that stands for the built-in sandbox. */
export const SANDBOX = 'sandbox';

/** True for the address of a real service. Of a variable nobody can say before it runs: it may stand for the sandbox. */
export function isRealService(url: unknown): boolean {
  const text = typeof url === 'string' ? url.trim() : '';
  return text !== '' && text !== SANDBOX && variableIn(text) === undefined;
}
