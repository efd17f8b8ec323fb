import { targetOf } from '../relay/target';

/** Where the requests of a session go: to all of it, and to its media one by one. */
export interface ControlUrls {
  all: string;
  /** @param control the `a=control` of the medium */
  of: (control: string | undefined) => string;
}

interface Described {
  /** That was asked for the description. */
  url: string;
  /** `Content-Base` and `Content-Location` of the answer. */
  contentBase: string | undefined;
  contentLocation: string | undefined;
  /** `a=control` before all media. */
  control: string | undefined;
}

/**
 * By RFC 2326, sections C.1.1 and 12.11. A relative `a=control` is put behind the base, as ffmpeg and live555 do it, and not resolved
 * like a link: that would lose the last part of the path, and a token in the query with it, where the base has no slash at its end.
 */
export function controlUrls({ url, contentBase, contentLocation, control }: Described): ControlUrls {
  const base = usable(contentBase) ?? usable(contentLocation) ?? url;
  const all = urlOf(control, base);
  return { all, of: (ofMedia) => urlOf(ofMedia, base) };
}

function urlOf(control: string | undefined, base: string): string {
  if (control === undefined || control === '' || control === '*') return base;
  if (/^rtsps?:/i.test(control)) return usable(control) ?? base;
  const behind = `${base}${base.endsWith('/') ? '' : '/'}${control}`;
  return usable(behind) ?? base;
}

/** Some servers write a login there, which stands in no request line of ours. */
function usable(url: string | undefined): string | undefined {
  return url === undefined ? undefined : targetOf(url)?.url;
}
