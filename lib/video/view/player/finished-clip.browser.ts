import { PlayFailure } from './failure.browser';
import { fetchVideo, type Asking } from './fetch-video.browser';

/**
 * The whole recording, for browsers that a stream cannot be played through. The first byte is fetched before, for a video element
 * would not tell why there is nothing.
 * @returns the address to play
 * @throws PlayFailure; the reason of the signal
 */
export async function finishedClip(url: string, asking: Asking, signal: AbortSignal): Promise<string> {
  // An element sends no headers: what needs them is fetched whole.
  if (asking.headers === undefined) {
    await fetchVideo(url, asking, signal, 'bytes=0-0');
    return url;
  }
  const response = await fetchVideo(url, asking, signal);
  return URL.createObjectURL(await broken(response.blob()));
}

async function broken(blob: Promise<Blob>): Promise<Blob> {
  try {
    return await blob;
  } catch {
    throw new PlayFailure('VIDEO_FAILED');
  }
}
