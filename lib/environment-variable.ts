// Server and dialogs share this file: it imports nothing.

const UNSET = /^\$(?:\{([^{}]+)\}|\(([^()]+)\))$/;

/**
 * The name of the environment variable that a value stands for. Node-RED replaces `${NAME}` and `$(NAME)` where they
 * are the whole value, and hands over the literal text if the variable is not set.
 */
export function variableIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const match = UNSET.exec(value.trim());
  return match?.[1] ?? match?.[2];
}
