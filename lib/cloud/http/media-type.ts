import { RvmError } from '../../error';

const VERSION = /^\d+(\.\d+)*$/;

/**
 * The `version` parameter of a `Content-Type`, such as `application/json; version=3`: quoted or not, integer or
 * dotted, in any place among the parameters. Undefined where there is none.
 */
export function versionOf(contentType: string | undefined): string | undefined {
  for (const parameter of (contentType ?? '').split(';').slice(1)) {
    const equals = parameter.indexOf('=');
    if (equals < 0 || parameter.slice(0, equals).trim().toLowerCase() !== 'version') continue;
    const version = parameter
      .slice(equals + 1)
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .trim();
    return VERSION.test(version) ? version : undefined;
  }
  return undefined;
}

/** Compares two versions by their components, so that 5.11 is later than 5.2; negative if `a` is the earlier. */
export function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** True where a version lies within a range, both of its ends included. */
export function isWithin(version: string, low: string, high: string): boolean {
  return compareVersions(version, low.trim()) >= 0 && compareVersions(version, high.trim()) <= 0;
}

/**
 * The `Accept` header that asks for a version range (specification, section 9).
 * @throws RvmError CONFIG_MISSING if a bound is no version or the lower one is the later.
 */
export function acceptVersions(low: string, high: string): string {
  const [from, to] = [low.trim(), high.trim()];
  if (!VERSION.test(from) || !VERSION.test(to)) {
    throw new RvmError('CONFIG_MISSING', 'The versions of the cloud must be numbers such as 3 or 4.1.');
  }
  if (compareVersions(from, to) > 0) {
    throw new RvmError('CONFIG_MISSING', 'The lowest version of the cloud is later than the highest one.');
  }
  return `application/json; version=${from}-${to}`;
}
