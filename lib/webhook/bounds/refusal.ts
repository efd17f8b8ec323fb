import type { IncomingHttpHeaders } from 'node:http';

/** Longest body, in bytes: events are about 2 kB. */
export const BODY_LIMIT = 1024 * 1024;

/** Why a request is refused by its head alone, before a byte of its body is read. */
export type Refusal = 'method' | 'compressed' | 'large';

/** The head of a request, as far as it can refuse one. */
export interface RequestHead {
  method?: string | undefined;
  headers: Pick<IncomingHttpHeaders, 'content-encoding' | 'content-length' | 'transfer-encoding'>;
}

/**
 * Judges the head of a request on a webhook path. Any content type is taken; only a compressed body is not, because it
 * would have to be inflated before it is proven.
 */
export function refusalOf(head: RequestHead, bodyLimit: number): Refusal | undefined {
  if (head.method !== 'POST') return 'method';
  const coding = head.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (coding !== '' && coding !== 'identity') return 'compressed';
  // Node's parser undoes chunks alone, and lets what is inside them pass; anything else it refuses by itself.
  if (/,\s*chunked\s*$/i.test(head.headers['transfer-encoding'] ?? '')) return 'compressed';
  const length = declaredLength(head.headers);
  return length !== undefined && length > bodyLimit ? 'large' : undefined;
}

/** Length a request declares, in bytes; undefined where it declares none. */
export function declaredLength(headers: Pick<IncomingHttpHeaders, 'content-length'>): number | undefined {
  const header = headers['content-length'];
  return header === undefined ? undefined : Number(header);
}
