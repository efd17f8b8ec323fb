import { randomBytes } from 'node:crypto';

import type { Lateness } from './faults';
import { isTrackName, type TrackName } from './media/programme';
import type { View } from '../scene/scenes';

/** Oldest grants beyond this number are forgotten, so that a caller who only ever asks cannot fill the memory. */
const MAX_GRANTS = 5000;

export interface GrantRequest {
  cameraId: string;
  cameraName: string;
  /** Moment of recorded video, epoch milliseconds; absent = live. */
  start?: number;
  /** Whose sessions are counted together against the limit, such as an Agent User. */
  owner?: string | undefined;
  /** What the camera looks at; absent = an empty gate. */
  view?: View;
  /** How long a recording takes to be there, where that is not at once. */
  late?: Lateness | undefined;
}

/** The right to play one camera, live or recorded, in a limited number of RTSP sessions. */
export interface Grant extends GrantRequest {
  readonly token: string;
  /** Epoch milliseconds; counts only until the first PLAY. */
  readonly expires: number;
  /** Sessions that have played it. */
  readonly sessions: Set<string>;
  /** Made by a redirect, so a redirect applies to it no more. */
  readonly redirected: boolean;
}

interface GrantPolicy {
  now: () => number;
  lifetimeSeconds: number;
  /** RTSP sessions one URL is good for. */
  uses: number;
  tokenPlace: 'path' | 'query';
}

/** What a request URL points at. */
export interface Target {
  grant: Grant;
  /** The track that the URL named; undefined = the whole session. */
  track: TrackName | undefined;
}

/** Gives out RTSP URLs with unguessable tokens and finds again what a URL stands for. */
export class Grants {
  readonly #policy: GrantPolicy;
  readonly #byToken = new Map<string, Grant>();

  constructor(policy: GrantPolicy) {
    this.#policy = policy;
  }

  /** A new grant. */
  add(request: GrantRequest, redirected = false): Grant {
    const grant: Grant = {
      ...request,
      token: randomBytes(24).toString('base64url'),
      expires: this.#policy.now() + this.#policy.lifetimeSeconds * 1000,
      sessions: new Set(),
      redirected,
    };
    this.#byToken.set(grant.token, grant);
    this.#forgetOldest();
    return grant;
  }

  /** Path, and query where the token has its place there, of the URL of a grant; without a track. */
  pathOf(grant: Grant): string {
    const path = `/${cameraPath(grant)}`;
    return this.#policy.tokenPlace === 'query' ? `${path}?token=${grant.token}` : `${path}/${grant.token}`;
  }

  /** What a request URL stands for: with or without a slash at the end, with or without the track; undefined = nothing. */
  find(uri: string): Target | undefined {
    const url = parseUrl(uri);
    if (url === undefined) return undefined;
    const parts = url.pathname.split('/').filter((part) => part !== '');
    const last = parts.at(-1);
    const track = isTrackName(last) ? last : undefined;
    if (track !== undefined) parts.pop();
    const token = this.#policy.tokenPlace === 'query' ? url.searchParams.get('token') : parts.pop();
    const grant = this.#byToken.get(token?.replace(/\/$/, '') ?? '');
    if (grant === undefined || parts.join('/') !== cameraPath(grant)) return undefined;
    return { grant, track };
  }

  /** True while this session (or, without one, a new session) may use the grant. */
  admits(grant: Grant, session?: string): boolean {
    if (session !== undefined && grant.sessions.has(session)) return true;
    if (grant.sessions.size >= this.#policy.uses) return false;
    return grant.sessions.size > 0 || this.#policy.now() < grant.expires;
  }

  #forgetOldest(): void {
    if (this.#byToken.size <= MAX_GRANTS) return;
    const [oldest] = this.#byToken.keys();
    if (oldest !== undefined) this.#byToken.delete(oldest);
  }
}

/** The beginning of the id, for a human to read; the token decides. Whole, it would make the URL one that debug views cut. */
const READABLE_ID = 8;

// The single quote is legal in a URL, but a URL that ends up in a command line is better without it.
function cameraPath({ cameraId, start }: GrantRequest): string {
  const kind = start === undefined ? 'live' : 'recorded';
  return `${kind}/${encodeURIComponent(cameraId.slice(0, READABLE_ID)).replaceAll("'", '%27')}`;
}

function parseUrl(uri: string): URL | undefined {
  const url = URL.parse(uri);
  return url !== null && /^rtsps?:$/.test(url.protocol) ? url : undefined;
}
