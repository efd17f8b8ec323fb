/** A range of versions as a client asks for it; parts of a dotted version are compared one by one. */
export interface VersionRange {
  low: readonly number[];
  high: readonly number[];
}

const MOST_VERSIONS = 100;

/** `1-3`, `2`, `5,6` as a rising list of versions; undefined where it is none of these. */
export function parseSupportedVersions(text: string): number[] | undefined {
  const versions = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*$/.exec(part);
    if (match === null) return undefined;
    const low = Number(match[1]);
    const high = Number(match[2] ?? match[1]);
    if (high < low || high - low >= MOST_VERSIONS) return undefined;
    for (let version = low; version <= high; version++) versions.add(version);
  }
  return [...versions].sort((a, b) => a - b);
}

/**
 * The range in an `Accept` header, `application/json; version=<low>-<high>` (specification, section 9).
 * Undefined where no version is requested, which the service answers with 406.
 */
export function requestedRange(accept: string | undefined): VersionRange | undefined {
  for (const mediaRange of (accept ?? '').split(',')) {
    const [type, ...parameters] = mediaRange.split(';').map((part) => part.trim());
    if (type?.toLowerCase() !== 'application/json') continue;
    const range = parameters.map(rangeOfParameter).find((found) => found !== undefined);
    if (range !== undefined) return range;
  }
  return undefined;
}

/** The highest supported version within the range; undefined where there is none, which is a 501. */
export function selectVersion(range: VersionRange, supported: readonly number[]): number | undefined {
  return supported.findLast(
    (version) => compare([version], range.low) >= 0 && compare([version], range.high) <= 0,
  );
}

function rangeOfParameter(parameter: string): VersionRange | undefined {
  const match = /^version\s*=\s*"?(\d{1,6}(?:\.\d{1,6})*)\s*-\s*(\d{1,6}(?:\.\d{1,6})*)"?$/i.exec(parameter);
  if (match?.[1] === undefined || match[2] === undefined) return undefined;
  return { low: match[1].split('.').map(Number), high: match[2].split('.').map(Number) };
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
