/** The variable parts of a path by name, for a pattern such as `devices/:camera/rtsp`; undefined = no match. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const expectedParts = pattern.split('/');
  const parts = path.split('/');
  if (expectedParts.length !== parts.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, expected] of expectedParts.entries()) {
    const part = parts[index] ?? '';
    if (expected.startsWith(':')) parameters[expected.slice(1)] = part;
    else if (expected !== part) return undefined;
  }
  return parameters;
}
