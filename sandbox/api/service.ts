import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../refusal';
import { sameText } from '../text';
import type { Disturbance } from '../world/faults';
import type { Camera } from '../world/sites';
import type { World } from '../world/world';
import { type Answer, type Call, matchPath, withMethod } from './http-server';

/** The request as a route receives it. */
export interface ServiceRequest {
  call: Call;
  /** Version negotiated at the System resource and carried by the links; undefined at `/system` itself. */
  version: string | undefined;
  /** Key of the logged-in station. */
  station: string | undefined;
  /** The camera in the path. @throws Refusal 404 */
  camera: () => Camera;
  /** The camera in the path, if it is online. @throws Refusal 404, or 409 if it is not online */
  onlineCamera: () => Camera;
  /** The other variable parts of the path, by name. */
  parameters: Readonly<Record<string, string>>;
  isOnline: (camera: Camera) => boolean;
  /** The link to a path below the service; it carries the version. */
  link: (path: string, version?: string) => string;
}

export interface ServiceRoute {
  method: 'GET' | 'POST';
  /** `/system`, or a path relative to the service's prefix, such as `devices/:camera/rtsp`. */
  path: string;
  /** The link relation that leads to this route; faults may be limited to it. */
  relation: string;
  withoutLogin?: boolean;
  answer: (request: ServiceRequest) => Answer | Promise<Answer>;
}

export function get(path: string, relation: string, answer: ServiceRoute['answer']): ServiceRoute {
  return { method: 'GET', path, relation, answer };
}

interface Match {
  route: ServiceRoute;
  parameters: Record<string, string>;
  version: string | undefined;
}

interface ServiceOptions {
  apiKey: string;
  routes: readonly ServiceRoute[];
  supportedVersions: readonly string[];
  sessions: LoginSessions;
  world: World;
  /** Ends delays when the sandbox closes. */
  closing: AbortSignal;
}

/**
 * The gateway of the service: checks `ApiKey` on every request, applies faults, checks the login, then calls the route. All
 * paths but `/system` begin with a prefix that is new at each start, so that a client fails which builds paths instead of
 * following links.
 */
export class Service {
  readonly #prefix = `/s-${randomBytes(4).toString('hex')}`;

  constructor(private readonly options: ServiceOptions) {}

  async answer(call: Call): Promise<Answer | 'reset'> {
    const { closing: signal, sessions, world } = this.options;
    this.#checkApiKey(call);
    const match = this.#match(call);
    const camera = world.accessibleCameras().find(({ id }) => id === match.parameters['camera']);
    const disturbance = world.faults.meet(match.route.relation, camera);
    // In real time, whatever the clock of the sandbox says.
    if (disturbance.delayMs > 0)
      await sleep(disturbance.delayMs, undefined, { signal }).catch(() => undefined);
    if (disturbance.reset) return 'reset';
    if (disturbance.status !== undefined) return faultAnswer(disturbance.status);
    if (disturbance.expireSession) sessions.endAll();
    return match.route.answer(this.#request(call, match, camera, disturbance));
  }

  #request(call: Call, match: Match, camera: Camera | undefined, disturbance: Disturbance): ServiceRequest {
    const station = this.options.sessions.stationOf(call.headers.cookie);
    if (station === undefined && match.route.withoutLogin !== true) {
      throw new Refusal(401, 'Unauthenticated', 'Log in: there is no session, or it is over.');
    }
    const isOnline = (camera: Camera): boolean =>
      camera.status === 'online' && !disturbance.isOffline(camera);
    return {
      call,
      version: match.version,
      station,
      camera: () => existing(camera),
      onlineCamera: () => usable(existing(camera), isOnline),
      parameters: match.parameters,
      isOnline,
      link: (path, version = match.version) => `${this.#prefix}/v${version ?? '0'}/${path}`,
    };
  }

  #checkApiKey(call: Call): void {
    const key = call.headers['apikey'];
    if (typeof key === 'string' && sameText(key, this.options.apiKey)) return;
    throw new Refusal(401, 'InvalidApiKey', 'The ApiKey header is missing or wrong.');
  }

  #match(call: Call): Match {
    const matches = this.options.routes
      .map((route) => this.#matchRoute(route, call.path))
      .filter((match) => match !== undefined);
    const method = call.method === 'HEAD' ? 'GET' : call.method;
    return withMethod(matches, method, 'There is nothing here; follow the links.');
  }

  #matchRoute(route: ServiceRoute, path: string): Match | undefined {
    if (route.path.startsWith('/')) {
      return route.path === path ? { route, parameters: {}, version: undefined } : undefined;
    }
    const [, prefix, versionPart, ...parts] = path.split('/');
    if (`/${prefix}` !== this.#prefix) return undefined;
    const version = this.options.supportedVersions.find((known) => versionPart === `v${known}`);
    const parameters = matchPath(route.path, parts.join('/'));
    return version === undefined || parameters === undefined ? undefined : { route, parameters, version };
  }
}

function existing(camera: Camera | undefined): Camera {
  if (camera !== undefined) return camera;
  throw new Refusal(404, 'CameraNotFound', 'There is no such camera in the sites of this provider.');
}

function usable(camera: Camera, isOnline: (camera: Camera) => boolean): Camera {
  if (isOnline(camera)) return camera;
  throw new Refusal(409, 'CameraUnavailable', 'The camera is not online.');
}

function faultAnswer(status: number): Answer {
  const body = { _type: 'Error', code: 'SandboxFault', message: `A fault of the sandbox answers ${status}.` };
  return { status, body };
}

const COOKIE = 'sandbox_session';
/** A session expires after this time without a request. */
const IDLE_MS = 2 * 3_600_000;
/** Beyond this number a new session replaces the oldest. */
const MOST_SESSIONS = 1000;

interface Session {
  station: string;
  usedAt: number;
}

/** Login sessions, carried by a cookie (specification, section 5). */
export class LoginSessions {
  readonly #sessions = new Map<string, Session>();

  constructor(private readonly now: () => number) {}

  get count(): number {
    return this.#sessions.size;
  }

  /** Opens a session for a station's Agent User. @returns the value of the `Set-Cookie` header */
  open(station: string): string {
    const oldest = this.#sessions.keys().next();
    if (this.#sessions.size >= MOST_SESSIONS && oldest.done !== true) this.#sessions.delete(oldest.value);
    const token = randomBytes(32).toString('base64url');
    this.#sessions.set(token, { station, usedAt: this.now() });
    return `${COOKIE}=${token}; Path=/; HttpOnly; SameSite=Strict`;
  }

  /** The station key of the session in the cookie; undefined if there is no session or it has expired. */
  stationOf(cookieHeader: string | undefined): string | undefined {
    const token = cookieValue(cookieHeader);
    const session = token === undefined ? undefined : this.#sessions.get(token);
    if (token === undefined || session === undefined) return undefined;
    if (this.now() - session.usedAt > IDLE_MS) {
      this.#sessions.delete(token);
      return undefined;
    }
    session.usedAt = this.now();
    return session.station;
  }

  endStation(station: string): void {
    for (const [token, session] of this.#sessions) {
      if (session.station === station) this.#sessions.delete(token);
    }
  }

  endAll(): void {
    this.#sessions.clear();
  }
}

function cookieValue(header: string | undefined): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [name, value] = pair.trim().split('=');
    if (name === COOKIE && value !== undefined) return value;
  }
  return undefined;
}
