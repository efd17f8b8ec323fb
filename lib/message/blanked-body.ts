import type { JsonReading } from './json-reading';

/**
 * The body as it may be kept: the values of token fields blanked, everything else as it was, but for a byte-order mark.
 * Without a token, the bytes themselves; of a text that has token fields by the dozen, what stands before the last that was read.
 */
export function blankedBody(body: Uint8Array, json: Pick<JsonReading, 'text' | 'token'>): Uint8Array {
  const { spans, kind } = json.token;
  if (json.text === undefined || kind === 'absent') return body;
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of spans) {
    pieces.push(json.text.slice(from, start), '"***"');
    from = end;
  }
  return Buffer.from(pieces.join('') + json.text.slice(from), 'utf8');
}
