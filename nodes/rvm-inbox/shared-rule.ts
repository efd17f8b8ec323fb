// Server and dialogs share this file.

/** What a PostgreSQL inbox may be encrypted by, beside a TLS node. */
export const TLS = ['verify', 'off'] as const;

export const ENGINES = ['sqlite', 'postgres'] as const;
export type Engine = (typeof ENGINES)[number];

/** True for what may be an address of PostgreSQL; the server looks closer. */
export function looksLikeConnection(text: string): boolean {
  return /^postgres(?:ql)?:\/\/[^/\s]+(?:\/\S*)?$/i.test(text);
}
