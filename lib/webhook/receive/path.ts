const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path by which a request target is matched: exact and case-sensitive, nothing decoded or resolved,
 * one trailing slash and the query ignored. An absolute target (`POST http://other/path`) counts by its
 * path alone, because the host of a request is never a reason to trust it.
 */
export function matchingPath(target: string): string {
  const withoutOrigin = target.replace(ABSOLUTE_FORM, '');
  const [path = ''] = withoutOrigin.split('?', 1);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
