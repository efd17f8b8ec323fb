import { PlayFailure, failureOf } from './failure.browser';

/** How the server is asked: with what proves the right, where that is not in the address. */
export interface Asking {
  headers?: () => Record<string, string>;
}

/** @throws PlayFailure; the reason of the signal */
export async function fetchVideo(
  url: string,
  { headers }: Asking,
  signal: AbortSignal,
  range?: string,
): Promise<Response> {
  const sent = { ...headers?.(), ...(range !== undefined && { Range: range }) };
  const response = await answerTo(url, { headers: sent, signal, cache: 'no-store' });
  if (response.ok) return response;
  throw await failureOf(response);
}

async function answerTo(url: string, init: RequestInit & { signal: AbortSignal }): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal.aborted) throw error;
    throw new PlayFailure('NETWORK');
  }
}
