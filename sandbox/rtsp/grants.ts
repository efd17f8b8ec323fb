import { randomBytes } from 'node:crypto';

import type { Lateness } from './faults';
import { isTrackName, type TrackName } from './media/programme';
import type { EffectiveOptions } from './options';
import type { View } from '../scene/scenes';

/** Beyond this number the oldest grants are deleted, so that requests for URLs cannot fill the memory. */
const MAX_GRANTS = 5000;

export interface GrantRequest {
  cameraId: string;
  cameraName: string;
  /** Moment of recorded video, epoch milliseconds; absent = live. */
  start?: number | undefined;
  /** The limit of sessions applies per owner, such as a station. */
  owner?: string | undefined;
  /** What the camera shows; absent = an empty gate. */
  view?: View;
  /** Delay of the recording, if it is not available at once. */
  late?: Lateness | undefined;
}

/** The right to play one camera, live or recorded, in a limited number of RTSP sessions. */
export interface Grant extends GrantRequest {
  readonly token: string;
  /** Epoch milliseconds; counts only until the first PLAY. */
  readonly expires: number;
  /** Ids of the sessions that have played it. */
  readonly sessions: Set<string>;
  /** True if a redirect created this grant: redirects no longer apply to it. */
  readonly redirected: boolean;
}

/** The grant and track that a request URL names. */
export interface Target {
  grant: Grant;
  /** Undefined = the whole session. */
  track: TrackName | undefined;
}

type GrantPolicy = Pick<EffectiveOptions, 'now' | 'urlLifetimeSeconds' | 'uses' | 'tokenPlace'>;

/** Creates RTSP URLs with unguessable tokens and resolves URLs to grants. */
export class Grants {
  readonly #byToken = new Map<string, Grant>();

  /** @param base URL of the server, with the login where players need one */
  constructor(
    private readonly policy: GrantPolicy,
    private readonly base: string,
  ) {}

  add(request: GrantRequest, redirected = false): Grant {
    const grant: Grant = {
      ...request,
      token: randomBytes(24).toString('base64url'),
      expires: this.policy.now() + this.policy.urlLifetimeSeconds * 1000,
      sessions: new Set(),
      redirected,
    };
    this.#byToken.set(grant.token, grant);
    this.#forgetOldest();
    return grant;
  }

  /** The URL of a grant, without a track. */
  urlOf(grant: Grant): string {
    const separator = this.policy.tokenPlace === 'query' ? '?token=' : '/';
    return `${this.base}/${cameraPath(grant)}${separator}${grant.token}`;
  }

  /** Resolves a request URL, with or without a trailing slash or a track; undefined = no grant matches. */
  find(uri: string): Target | undefined {
    const url = parseUrl(uri);
    if (url === undefined) return undefined;
    const parts = url.pathname.split('/').filter((part) => part !== '');
    const last = parts.at(-1);
    const track = isTrackName(last) ? last : undefined;
    if (track !== undefined) parts.pop();
    const token = this.policy.tokenPlace === 'query' ? url.searchParams.get('token') : parts.pop();
    const grant = this.#byToken.get(token?.replace(/\/$/, '') ?? '');
    if (grant === undefined || parts.join('/') !== cameraPath(grant)) return undefined;
    return { grant, track };
  }

  /** True while this session (or, if absent, a new session) may use the grant. */
  admits(grant: Grant, session?: string): boolean {
    if (session !== undefined && grant.sessions.has(session)) return true;
    if (grant.sessions.size >= this.policy.uses) return false;
    return grant.sessions.size > 0 || this.policy.now() < grant.expires;
  }

  #forgetOldest(): void {
    if (this.#byToken.size <= MAX_GRANTS) return;
    const [oldest] = this.#byToken.keys();
    if (oldest !== undefined) this.#byToken.delete(oldest);
  }
}

/**
 * Length of the id prefix in the URL, which only helps people; the token decides. Debug views would truncate a URL with the
 * whole id.
 */
const READABLE_ID = 8;

// A single quote is legal in a URL, but causes trouble when the URL is pasted into a command line.
function cameraPath({ cameraId, start }: GrantRequest): string {
  const kind = start === undefined ? 'live' : 'recorded';
  return `${kind}/${encodeURIComponent(cameraId.slice(0, READABLE_ID)).replaceAll("'", '%27')}`;
}

function parseUrl(uri: string): URL | undefined {
  const url = URL.parse(uri);
  return url !== null && /^rtsps?:$/.test(url.protocol) ? url : undefined;
}
