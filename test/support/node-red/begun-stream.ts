import assert from 'node:assert/strict';

/** An answer that has begun well, and the way to end it. */
export async function begun(url: string): Promise<{ response: Response; end: () => void }> {
  const ending = new AbortController();
  const response = await fetch(url, { signal: ending.signal });
  assert.equal(response.status, 200);
  return { response, end: () => ending.abort() };
}

/** As much of a stream as holds its first picture. */
export async function beginOf({ body }: Response): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body ?? []) {
    pieces.push(piece);
    length += pieces.at(-1)?.length ?? 0;
    if (length >= 20_000) break;
  }
  return Buffer.concat(pieces);
}
