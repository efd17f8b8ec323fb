import { RvmError } from '../../error';
import { isRecord, type JsonRecord } from '../../json/json';
import { DIALECT } from '../dialect';
import type { Answer } from '../http/answer';
import type { Origins, TrustedUrl } from '../http/origins';
import { findLink } from '../http/records';
import type { ServiceRequest } from '../http/transport';
import { quoteBare } from '../secret-mask';

/** The range of versions sent on `GET /system`: integers or dotted. */
export interface VersionRange {
  versionLow: string;
  versionHigh: string;
}

/** `GET /system` with the version range (specification, section 9). */
export function systemRequest(origins: Origins, { versionLow, versionHigh }: VersionRange): ServiceRequest {
  return {
    method: 'GET',
    url: origins.system,
    relation: 'system',
    accept: acceptVersions(versionLow, versionHigh),
  };
}

/** Maximum number of characters quoted from the names of relations. */
const MAX_OFFERED = 200;

/** The System resource: the entry to everything else (specification, section 2). */
export class SystemResource {
  /** @param version the one the service chose; undefined where it names none, which is tolerated */
  private constructor(
    private readonly record: JsonRecord,
    private readonly url: URL,
    private readonly origins: Origins,
    readonly version: string | undefined,
  ) {}

  /**
   * Reads an answer to `GET /system` that was not refused for lack of rights.
   * @throws RvmError INCOMPATIBLE_VERSION on 501, VERSION_NOT_REQUESTED on 406 (specification, section 7),
   *   BAD_RESPONSE, RATE_LIMITED, HTTP_ERROR
   */
  static from(answer: Answer, origins: Origins): SystemResource {
    if (answer.status === 501) {
      throw answer.error(
        'INCOMPATIBLE_VERSION',
        'This package is incompatible with the API: the service supports no version of the range set in the cloud.',
      );
    }
    if (answer.status === 406) {
      throw answer.error(
        'VERSION_NOT_REQUESTED',
        'The service saw no version range in the request; please report this as a fault of the package.',
      );
    }
    if (answer.status === 404) {
      throw answer.error(
        'HTTP_ERROR',
        'There is no service at this address (it answered 404): check the base URL of the cloud.',
      );
    }
    if (!answer.ok) throw answer.statusError();
    const record = answer.json();
    if (isRecord(record))
      return new SystemResource(record, answer.url, origins, versionOf(answer.contentType));
    throw answer.error(
      'BAD_RESPONSE',
      'The service did not answer with its System resource; check the base URL of the cloud.',
    );
  }

  /**
   * Whether the answer is that for a logged-in client: others are shown no devices (specification, section 5).
   * @throws RvmError UNTRUSTED_LINK
   */
  get isLoggedIn(): boolean {
    return this.link(DIALECT.relations.devices) !== undefined;
  }

  /** @throws RvmError UNTRUSTED_LINK */
  link(relation: string): TrustedUrl | undefined {
    const address = findLink(this.record, relation);
    return address === undefined ? undefined : this.origins.resolve(address, this.url, relation);
  }

  /** @throws RvmError LINK_NOT_OFFERED, UNTRUSTED_LINK */
  requireLink(relation: string): TrustedUrl {
    const url = this.link(relation);
    if (url === undefined) throw notOffered(relation, 'The service', this.record);
    return url;
  }
}

/**
 * The error for a relation that is missing, which means "not allowed, not licensed or not supported now".
 * @param resource the resource that was searched: the error names what it does offer
 */
export function notOffered(relation: string, who: string, resource: JsonRecord): RvmError {
  const links = resource['_links'];
  const offered = isRecord(links) ? Object.keys(links) : [];
  const instead = offered.length === 0 ? '' : ` It offers ${quoteBare(offered.join(', '), MAX_OFFERED)}.`;
  return new RvmError(
    'LINK_NOT_OFFERED',
    `${who} does not offer ${relation} now: it may lack the function, or the Agent User the right to it.${instead}`,
    { relation },
  );
}

const VERSION = /^\d+(\.\d+)*$/;

/**
 * The `version` parameter of a `Content-Type`, such as `application/json; version=3`: quoted or not, integer or dotted, in any
 * place among the parameters. Undefined where there is none.
 */
function versionOf(contentType: string | undefined): string | undefined {
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
function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** True if a version is within a range, including both ends. */
export function isWithin(version: string, low: string, high: string): boolean {
  return compareVersions(version, low.trim()) >= 0 && compareVersions(version, high.trim()) <= 0;
}

/**
 * The `Accept` header that requests a version range (specification, section 9).
 * @throws RvmError CONFIG_MISSING if a bound is not a version, or the lower bound is the later one
 */
function acceptVersions(low: string, high: string): string {
  const [from, to] = [low.trim(), high.trim()];
  if (!VERSION.test(from) || !VERSION.test(to)) {
    throw new RvmError('CONFIG_MISSING', 'The versions of the cloud must be numbers such as 3 or 4.1.');
  }
  if (compareVersions(from, to) > 0) {
    throw new RvmError('CONFIG_MISSING', 'The lowest version of the cloud is later than the highest one.');
  }
  return `application/json; version=${from}-${to}`;
}
