/** The parts of a dotted version. */
type Version = readonly number[];

/** A range of versions as a client requests it. */
interface VersionRange {
  low: Version;
  high: Version;
}

const MOST_VERSIONS = 100;
const VERSION = String.raw`(\d{1,6}(?:\.\d{1,6})*)`;
const SUPPORTED = new RegExp(String.raw`^\s*${VERSION}(?:\s*-\s*${VERSION})?\s*$`);
const REQUESTED = new RegExp(String.raw`^version\s*=\s*"?${VERSION}\s*-\s*${VERSION}"?$`, 'i');

/**
 * Parses `1-3`, `2`, `5,6`, `1.2` or `1.2-3` to an ascending list of versions; undefined for other text. A range contains both
 * ends and the versions between them: in steps of the last part if the ends differ only in that (`1.2-1.4`), else the whole
 * versions (`1.2-3` is 1.2, 2 and 3).
 */
export function parseSupportedVersions(text: string): string[] | undefined {
  const versions: Version[] = [];
  for (const part of text.split(',')) {
    const match = SUPPORTED.exec(part);
    if (match?.[1] === undefined) return undefined;
    const range = versionsFrom(partsOf(match[1]), partsOf(match[2] ?? match[1]));
    if (range === undefined) return undefined;
    versions.push(...range);
  }
  versions.sort(compare);
  const different = versions.filter((version, index) => {
    const before = versions[index - 1];
    return before === undefined || compare(version, before) !== 0;
  });
  return different.map((version) => version.join('.'));
}

/**
 * The range in an `Accept` header, `application/json; version=<low>-<high>` (specification, section 9). Undefined if no version
 * is requested; the service then answers 406.
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

/** The highest supported version within the range; undefined = none, which the service answers with 501. */
export function selectVersion(range: VersionRange, supported: readonly string[]): string | undefined {
  return supported.findLast((version) => isWithin(partsOf(version), range));
}

function versionsFrom(low: Version, high: Version): Version[] | undefined {
  const start = low.length === high.length ? low.slice(0, -1) : [];
  const shared = start.every((part, index) => part === high[index]) ? start : [];
  const [first, last] = [low[shared.length] ?? 0, high[shared.length] ?? 0];
  if (compare(low, high) > 0 || last - first >= MOST_VERSIONS) return undefined;
  const steps = Array.from({ length: last - first + 1 }, (_, index) => [...shared, first + index]);
  return [low, ...steps.filter((version) => isWithin(version, { low, high })), high];
}

function isWithin(version: Version, { low, high }: VersionRange): boolean {
  return compare(version, low) >= 0 && compare(version, high) <= 0;
}

function partsOf(version: string): Version {
  return version.split('.').map(Number);
}

function rangeOfParameter(parameter: string): VersionRange | undefined {
  const match = REQUESTED.exec(parameter);
  if (match?.[1] === undefined || match[2] === undefined) return undefined;
  return { low: partsOf(match[1]), high: partsOf(match[2]) };
}

function compare(a: Version, b: Version): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
