import type { Answer } from '../http/answer';
import { acceptVersions } from '../http/media-type';
import type { Origins } from '../http/origin';
import type { ServiceRequest } from '../http/transport';
import { SystemResource } from './system-resource';

/** The range of versions that is asked for. */
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

/**
 * What tells that an answer of success is one to somebody who is not logged in: at the System resource, whatever has led there, a
 * session that is lost is not refused but only shown less. Undefined for all other resources.
 */
export function logoutTest(
  { method, url }: ServiceRequest,
  origins: Origins,
): ((answer: Answer) => boolean) | undefined {
  if (method !== 'GET' || url.href !== origins.system.href) return undefined;
  return (answer) => !SystemResource.from(answer, origins).isLoggedIn;
}
