import { RvmError } from '../../error';
import { isRecord, type JsonRecord } from '../../json/json';
import { DIALECT } from '../dialect';
import type { Answer } from '../http/answer';
import { findLink } from '../http/links';
import { versionOf } from '../http/media-type';
import type { Origins, TrustedUrl } from '../http/origin';
import { shownBare } from '../shown';

/** Of the names of relations no more is quoted, in characters. */
const MAX_OFFERED = 200;

/** The System resource: the entry to everything else (specification, section 2). */
export class SystemResource {
  /** The version the service chose; undefined where it names none, which is tolerated. */
  readonly version: string | undefined;
  readonly #record: JsonRecord;
  readonly #url: URL;
  readonly #origins: Origins;

  private constructor(record: JsonRecord, answer: Answer, origins: Origins) {
    this.#record = record;
    this.#url = answer.url;
    this.#origins = origins;
    this.version = versionOf(answer.contentType);
  }

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
    if (isRecord(record)) return new SystemResource(record, answer, origins);
    throw answer.error(
      'BAD_RESPONSE',
      'The service did not answer with its System resource; check the base URL of the cloud.',
    );
  }

  /**
   * Whether it is that of somebody who has logged in: others are shown no devices (specification, section 5).
   * @throws RvmError UNTRUSTED_LINK
   */
  get isLoggedIn(): boolean {
    return this.link(DIALECT.relations.devices) !== undefined;
  }

  /** @throws RvmError UNTRUSTED_LINK */
  link(relation: string): TrustedUrl | undefined {
    const address = findLink(this.#record, relation);
    return address === undefined ? undefined : this.#origins.resolve(address, this.#url, relation);
  }

  /** @throws RvmError LINK_NOT_OFFERED, UNTRUSTED_LINK */
  requireLink(relation: string): TrustedUrl {
    return this.link(relation) ?? notOffered(relation, 'The service', this.#record);
  }
}

/**
 * A relation that is missing means "not allowed, not licensed or not supported now".
 * @param resource what was looked at: what it does offer is named
 */
export function notOffered(relation: string, who: string, resource: JsonRecord): never {
  throw notOfferedError(relation, who, resource);
}

/** The error of `notOffered`. */
export function notOfferedError(relation: string, who: string, resource: JsonRecord): RvmError {
  const links = resource['_links'];
  const offered = isRecord(links) ? Object.keys(links) : [];
  const instead = offered.length === 0 ? '' : ` It offers ${shownBare(offered.join(', '), MAX_OFFERED)}.`;
  return new RvmError(
    'LINK_NOT_OFFERED',
    `${who} does not offer ${relation} now: it may lack the function, or the Agent User the right to it.${instead}`,
    { relation },
  );
}
