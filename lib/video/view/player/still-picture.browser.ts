import { fetchVideo, type Asking } from './fetch-video.browser';
import { PlayFailure } from './failure.browser';

/**
 * Has a picture made, and fetches it. An image element would not tell why there is none.
 * @returns an address of this page, to be revoked
 * @throws PlayFailure; the reason of the signal
 */
export async function stillPicture(url: string, asking: Asking, signal: AbortSignal): Promise<string> {
  const response = await fetchVideo(url, asking, signal);
  try {
    return URL.createObjectURL(await response.blob());
  } catch (error) {
    if (signal.aborted) throw error;
    throw new PlayFailure('NETWORK');
  }
}
