declare global {
  interface Window {
    /** The one of iPhones, which have no other. */
    ManagedMediaSource?: typeof MediaSource;
  }
}

/** What browsers play a stream through; undefined where a browser has none, or it was taken away. */
export function mediaSourceKind(): typeof MediaSource | undefined {
  return typeof MediaSource === 'undefined' ? window.ManagedMediaSource : MediaSource;
}

/** Gives the element a source that media can be appended to. It is open once the promise says so. */
export function attachSource(
  video: HTMLVideoElement,
  kind: typeof MediaSource,
): { source: MediaSource; opened: Promise<void>; detach: () => void } {
  const source = new kind();
  // A managed source opens only where no other device may take the video over.
  if (kind === window.ManagedMediaSource) video.disableRemotePlayback = true;
  const url = URL.createObjectURL(source);
  const opened = new Promise<void>((resolve) => {
    source.addEventListener('sourceopen', () => resolve(), { once: true });
  });
  video.src = url;
  return { source, opened, detach: () => URL.revokeObjectURL(url) };
}
