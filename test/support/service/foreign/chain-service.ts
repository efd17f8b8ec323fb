import type { StationClientOptions } from '../../../../lib/cloud/station-client';
import { withCookies, type Reply, type ScriptedService, type SeenRequest } from '../scripted-service';
import { Cookies, fieldOf, JPEG, multipart, PICTURE_TIME } from './foreign-service';

const PREFIX = '/vms/eu-1';

/** A request as the service reads it. */
interface ForeignRequest {
  method: string;
  /** Below the prefix of the service, without the query. */
  path: string;
  query: URLSearchParams;
  headers: SeenRequest['headers'];
  /** Undefined where there is none. */
  json: unknown;
}

/** As the service writes it: in braces and capitals. */
const GATE = '{0E9F0C1A-0000-E911-F000-00000000000A}';
const REMOTE_ID = '4xIx1DMwMLSwMDW2tDROTd_-Gate';

/**
 * A service made by hand from what related interfaces look like. It keeps to the specification where that speaks, and differs from
 * the sandbox of this package wherever it is silent: chains of relative links, links on the elements of the data sources, PTZ
 * behind a controller, tours called patterns and stopped all at once, no home position, pictures in parts, errors as 403
 * with a code, cookies that each answer replaces.
 */
export class ChainService {
  /**
   * What it was told: moves such as `preset 0` in the order they came, bodies of the requests for RTSP sessions, queries of the
   * requests for a picture.
   */
  readonly told = { moves: [] as string[], sessions: [] as unknown[], pictures: [] as string[] };

  readonly #cookies = new Cookies(
    {
      auth_token: '; Max-Age=7200; Path=/vms/eu-1; HttpOnly; SameSite=Strict',
      'x!route~1': '; path=/; EXPIRES=Fri, 31 Dec 2099 23:59:59 GMT; Priority=High',
    },
    ['old=1; Max-Age=0', 'past=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT', 'aside=1; Path=/vms/eu-2'],
  );

  /** By method and path below the prefix; needs a session. */
  readonly #routes: Readonly<Record<string, (request: ForeignRequest) => Reply>> = {
    'GET /list/cameras': ({ query }) => this.#cameras(query.get('from') === 'b~2/c'),
    'GET /list/1': () => resource({ ...this.#gate(), firmware: '7.1', remoteId: REMOTE_ID }),
    'GET /list/1/sources': () => resource(this.#sources()),
    'POST /list/1/s/2/video': ({ json }) => this.#video(json),
    'GET /list/1/s/2/image': (request) => this.#picture(request),
    'GET /list/1/s/2/ptz': () => resource(this.#controller()),
    'GET /list/1/s/2/ptz/presets': () => resource(this.#presets()),
    'POST /list/1/s/2/ptz/presets/0': ({ json }) => this.#move('preset 0', 204, json),
    'POST /list/1/s/2/ptz/presets/4': ({ json }) => this.#move('preset 4', 200, json),
    'GET /list/1/s/2/ptz/patterns': () => resource(this.#patterns()),
    'POST /list/1/s/2/ptz/patterns/2/run': ({ json }) => this.#move('tour 2 starts', 202, json),
    'POST /list/1/s/2/ptz/halt': ({ json }) => this.#move('tours stop', 204, json),
  };

  constructor(private readonly service: ScriptedService) {
    service.behaviour = (request) => this.#answer(request);
  }

  /** The settings of a cloud and its station that fit this service. */
  settings(): Partial<StationClientOptions> {
    return {
      baseUrl: `${this.service.url}/vms/eu-1/`,
      versionLow: '4.5',
      versionHigh: '5.11',
      loginUserField: 'user_name',
      loginPasswordField: 'user_password',
    };
  }

  /** Ends every session. */
  forgetSessions(): void {
    this.#cookies.forget();
  }

  #answer({ method, path, headers, body }: SeenRequest): Reply {
    const url = new URL(path, this.service.url);
    if (!url.pathname.startsWith(`${PREFIX}/`)) return { status: 404, text: 'outside of the service' };
    if (headers['apikey'] !== this.service.apiKey) return refusal(403, 'Unauthorized');
    const request: ForeignRequest = {
      method,
      path: url.pathname.slice(PREFIX.length),
      query: url.searchParams,
      headers,
      json: body === '' ? undefined : JSON.parse(body),
    };
    const loggedIn = this.#cookies.accepts(headers.cookie);
    if (request.path === '/system') return this.#rotated(this.#system(request, loggedIn), loggedIn);
    const login = this.#logIn(request);
    if (login !== undefined) return login;
    if (!loggedIn) return refusal(403, 'AuthExpired');
    const route = this.#routes[`${method} ${request.path}`];
    return this.#rotated(route?.(request) ?? refusal(404, 'NoSuchResource'), true);
  }

  /** Every answer of a session brings new cookies and makes the old ones invalid. */
  #rotated(reply: Reply, loggedIn: boolean): Reply {
    return loggedIn ? withCookies(this.#cookies.next(), reply) : reply;
  }

  #system({ headers }: ForeignRequest, loggedIn: boolean): Reply {
    if (headers.accept !== 'application/json; version=4.5-5.11') return refusal(406, 'NoVersion');
    const links = loggedIn
      ? { '/vendor/rel/devices': ['list/cameras?embed=%7B%22a%22%3A1%7D'] }
      : { '/vendor/rel/login': { href: 'auth/start?region=eu%2F1&again=' } };
    const reply = resource({ name: null, _system_id: 's', _links: { self: '/vms/eu-1/system', ...links } });
    return {
      ...reply,
      headers: { 'Content-Type': 'application/vnd.vendor.resource+json; charset=utf-8; Version = "5.11"' },
    };
  }

  /** Undefined where the request is no login. */
  #logIn({ method, path, query, json }: ForeignRequest): Reply | undefined {
    if (method !== 'POST' || path !== '/auth/start') return undefined;
    if (query.toString() !== 'region=eu%2F1&again=') return refusal(400, 'InvalidValue');
    const named = fieldOf(json, 'user_name') === this.service.username;
    const proven = fieldOf(json, 'user_password') === this.service.password;
    if (!named || !proven) return refusal(403, 'Unauthenticated');
    const headers = { Location: 'http://elsewhere.invalid/welcome', 'Set-Cookie': this.#cookies.next() };
    return { status: 302, headers };
  }

  #cameras(second: boolean): Reply {
    const header = { start_index: second ? 2 : 0, total_items: 3, partial: true, limits: {} };
    const next = { _links: { next: { href: 'cameras?from=b%7E2%2Fc' } } };
    return resource({
      _type: 'Devices',
      collection_header: second ? header : { ...header, ...next },
      camera_list: second ? [this.#dock()] : [this.#gate(), this.#yard()],
      _links: {},
    });
  }

  #gate(): Record<string, unknown> {
    return {
      id: GATE,
      name: 'Gate',
      type: 'camera',
      state: 'online',
      status: [],
      location: 'Depot',
      mac_address: null,
      _links: { self: '/vms/eu-1/list/1', '/vendor/rel/data_sources': { href: '1/sources' } },
      _embedded: {},
    };
  }

  #yard(): Record<string, unknown> {
    return {
      id: 'yard',
      name: 'Yard',
      status: ['unauthenticated', 'initializing'],
      state: 'offline',
      _links: null,
    };
  }

  #dock(): Record<string, unknown> {
    return { id: 'dock', name: 'Dock', status: ['id_inconsistent', 'Online'], _links: {} };
  }

  #sources(): Record<string, unknown> {
    const links = {
      self: '2',
      '/vendor/rel/rtsp': '/vms/eu-1/list/1/s/2/video',
      '/vendor/rel/snapshot': { href: 's/2/image?quality=a%2Fb' },
      '/vendor/rel/ptz_controller': [{ href: 's/2/ptz' }],
    };
    return {
      _type: 'DataSources',
      collection_header: {},
      data_sources: [
        { id: '1', type: 'audio', cameraRemoteId: null, _links: { '/vendor/rel/rtsp': 's/1/sound' } },
        { id: '2', type: 'video', cameraRemoteId: REMOTE_ID, enabled: true, _links: links },
      ],
    };
  }

  #video(json: unknown): Reply {
    if (fieldOf(json, 'cameraId') !== REMOTE_ID) return refusal(400, 'InvalidValue', 'cameraId');
    this.told.sessions.push(json);
    return { status: 201, headers: { Location: 'rtsps://relay.example/chain?key=a%2Fb' } };
  }

  #picture({ headers, query }: ForeignRequest): Reply {
    if (!(headers.accept ?? '').includes('image/jpeg')) return refusal(406, 'NotAcceptable');
    this.told.pictures.push(query.toString());
    const bytes = multipart('b-0.1', [
      { jpeg: JPEG, time: PICTURE_TIME },
      { jpeg: Buffer.from('not this one'), time: '2026-11-21T09:00:00Z' },
    ]);
    return { headers: { 'Content-Type': 'multipart/mixed; charset=x; boundary="b-0.1"' }, bytes };
  }

  #controller(): Record<string, unknown> {
    const links = {
      self: '/vms/eu-1/list/1/s/2/ptz',
      edit: '/vms/eu-1/list/1/s/2/ptz',
      '/vendor/rel/presets': { href: 'ptz/presets' },
      '/vendor/rel/patterns': 'ptz/patterns?sort=name-asc',
      '/vendor/rel/ptzlock': 'ptz/lock',
    };
    return { x: 0, y: 0, z: 0, locked: false, lock_expire_time: '', _limits: {}, _links: links };
  }

  #presets(): Record<string, unknown> {
    return {
      _type: 'PtzPresets',
      collection_header: {},
      ptz_presets: [
        {
          name: 'Door',
          description: '',
          index: 0,
          digital: false,
          _links: { '/vendor/rel/trigger': 'presets/0' },
        },
        { name: null, index: 4, x: 0, _links: { '/vendor/rel/trigger': [{ href: 'presets/4' }] } },
      ],
      _links: { '/vendor/rel/add_preset': 'presets' },
    };
  }

  #patterns(): Record<string, unknown> {
    const links = { self: 'patterns/2', '/vendor/rel/trigger': 'patterns/2/run' };
    return {
      _type: 'PtzPatterns',
      ptz_patterns: [{ name: 'Round', description: '', index: '2', _links: links }],
      _links: { '/vendor/rel/halt': '/vms/eu-1/list/1/s/2/ptz/halt' },
    };
  }

  #move(what: string, status: number, json: unknown): Reply {
    if (json !== undefined && JSON.stringify(json) !== '{}') return refusal(400, 'InvalidValue');
    this.told.moves.push(what);
    return { status };
  }
}

function resource(json: Record<string, unknown>): Exclude<Reply, string> {
  return { json, headers: { 'Content-Type': 'application/vnd.vendor.resource+json; version=5.11' } };
}

function refusal(status: number, code: string, field?: string): Reply {
  return {
    status,
    json: { _type: 'Error', code, field, message: `refused as ${code}`, resource: '', _links: {} },
  };
}
