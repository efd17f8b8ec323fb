import type { StationClientOptions } from '../../../../lib/cloud/station-client';
import type { Reply } from '../scripted-service';
import {
  Cookies,
  fieldOf,
  ForeignService,
  type ForeignRequest,
  type ForeignRoute,
  JPEG,
} from './foreign-service';

const GATE = '4xIx1DMwMLSwMDW2tDROTd-gAtE';
const REMOTE_ID = '22characterBase64url_-';
const DOCS = 'https://docs.vendor.example/v7/rel/';

/**
 * Commands at fixed addresses (sibling B): everything wrapped in `result`, relations that are full URLs, absolute
 * links, all of them on the device, presets and tours driven by PUT with the number in the body, pictures as base64
 * in JSON, errors with a `meta`.
 */
export class CommandService extends ForeignService {
  protected readonly prefix = '/relay';

  protected readonly cookies = new Cookies(
    {
      'Ep-Session.1': '; Secure; Path=/relay; SameSite=None',
      lb: '; Path=/',
      _a_: '; Domain=127.0.0.1; HttpOnly',
    },
    ['elsewhere=1; Domain=vendor.example'],
  );

  protected readonly routes: Readonly<Record<string, ForeignRoute>> = {
    'GET /cameras': () => result({ cameras: [this.#gate(), yard(), dock()], serverVersion: '7.12' }),
    'GET /camera': () => result({ ...this.#gate(), firmwareVersion: '7.1', timezone: 'UTC' }),
    'POST /media': ({ json }) => this.#video(json),
    'GET /media': ({ query }) => this.#picture(query),
    'GET /camera/ptz/preset': () => result(this.#presets()),
    'PUT /camera/commands/preset': ({ json }) => this.#move(json, 'presetId', 'preset', ''),
    'POST /camera/commands/preset': () => putOnly(),
    'PUT /camera/commands/preset/home': () => this.#moved('home'),
    'POST /camera/commands/preset/home': () => putOnly(),
    'GET /camera/ptz/tour': () => result(this.#tours()),
    'PUT /camera/commands/tour': ({ json }) => this.#move(json, 'tourId', 'tour', ' starts'),
    'POST /camera/commands/tour': () => putOnly(),
    'PUT /camera/commands/tour/stop': ({ json }) => this.#move(json, 'tourId', 'tour', ' stops'),
    'POST /camera/commands/tour/stop': () => putOnly(),
  };

  settings(): Partial<StationClientOptions> {
    return {
      baseUrl: `${this.service.url}/relay`,
      versionLow: '7.9',
      versionHigh: '7.12',
      loginUserField: 'Email',
      loginPasswordField: 'Secret',
      loginExtra: { clientName: 'Central Station', domainId: 7 },
    };
  }

  protected system(_request: ForeignRequest, loggedIn: boolean): Reply {
    const link = loggedIn
      ? { [`${DOCS}devices`]: [{ href: this.url('/cameras?verbosity=HIGH&t=a%2Cb') }] }
      : { [`${DOCS}login/`]: this.url('/login') };
    return {
      headers: { 'Content-Type': 'vendor.VMS.System;charset=utf-8;version=7.12' },
      json: {
        id: 22,
        name: 'Relay',
        _type: 'System',
        _links: { [`${DOCS}self`]: this.url('/system'), ...link },
      },
    };
  }

  protected logIn({ method, path, json }: ForeignRequest): Reply | undefined {
    if (method !== 'POST' || path !== '/login') return undefined;
    const wanted = {
      clientName: 'Central Station',
      domainId: 7,
      Email: this.service.username,
      Secret: this.service.password,
    };
    const right = Object.entries(wanted).every(([name, value]) => fieldOf(json, name) === value);
    if (!right) return failed(403, 'UNKNOWN', 'Unknown reason');
    const session = { status: 'success', result: { session: 'opaque-text', domainId: '7' } };
    return { status: 201, json: session, headers: { 'Set-Cookie': this.cookies.next() } };
  }

  protected keyRefused(): Reply {
    return failed(403, 'NO_KEY', 'integration key missing');
  }

  protected sessionOver(): Reply {
    return failed(401, 'SESSION', 'session not recognised');
  }

  protected notFound(): Reply {
    return failed(404, 'NOT_FOUND', 'no such thing');
  }

  #gate(): Record<string, unknown> {
    const link = (path: string) => [{ href: this.url(path) }];
    return {
      id: GATE,
      name: 'Gate',
      location: 'Depot',
      connected: true,
      connectionState: 'CONNECTED',
      connectionStatus: { isConnectable: true, state: '', errorFlags: [] },
      cameraRemoteId: REMOTE_ID,
      serverId: null,
      links: [],
      capabilities: {},
      _links: {
        [`${DOCS}self`]: link(`/camera?id=${GATE}`),
        [`${DOCS}rtsp`]: link('/media?t_min=a%2Fb'),
        [`${DOCS}snapshot`]: link(`/media?format=jpeg&cameraId=${GATE}&t=live`),
        [`${DOCS}ptz_presets`]: link(`/camera/ptz/preset?id=${GATE}`),
        [`${DOCS}ptz_home`]: link('/camera/commands/preset/home'),
        [`${DOCS}ptz_tours`]: link(`/camera/ptz/tour?id=${GATE}`),
      },
    };
  }

  #video(json: unknown): Reply {
    if (fieldOf(json, 'cameraId') !== REMOTE_ID) return failed(404, 'NOT_FOUND', 'no such camera');
    this.told.sessions.push(json);
    return result({ rtspUrl: 'rtsp://relay.example:5540/command' });
  }

  #picture(query: URLSearchParams): Reply {
    this.told.pictures.push(query.toString());
    return result({ mimeType: 'image/jpeg', image: JPEG.toString('base64') });
  }

  #presets(): Record<string, unknown> {
    return {
      maxId: 3,
      presets: [
        { presetId: 0, name: 'Door', isHome: false },
        { presetId: 3, name: 'Ramp', isHome: true },
      ],
      _links: { [`${DOCS}goto`]: this.url('/camera/commands/preset') },
    };
  }

  #tours(): Record<string, unknown> {
    const step = { id: 0, viewTimeMs: 5, moveSpeed: 1 };
    return {
      maxId: 0,
      tours: [{ id: 0, name: 'Round', mode: 'sequential', isDefault: false, presets: [step] }],
      _links: {
        [`${DOCS}start_tour`]: this.url('/camera/commands/tour'),
        [`${DOCS}stop_tour`]: this.url('/camera/commands/tour/stop'),
      },
    };
  }

  #move(json: unknown, field: string, what: string, how: string): Reply {
    const id = fieldOf(json, field);
    if (typeof id !== 'number') return failed(400, 'BAD_PARAMETER', `${field} is missing`);
    return this.#moved(`${what} ${id}${how}`);
  }

  #moved(what: string): Reply {
    this.told.moves.push(what);
    return { json: { status: 'success', result: {} } };
  }
}

function yard(): Record<string, unknown> {
  return {
    id: '4xIx1DMwMLSwMDW2tDROTd-yArD',
    name: 'Yard',
    connectionState: 'DISCONNECTED',
    connected: false,
  };
}

function dock(): Record<string, unknown> {
  return { id: '4xIx1DMwMLSwMDW2tDROTd-dOcK', name: 'Dock', connected: true, _links: null };
}

function result(result: Record<string, unknown>): Reply {
  return { json: { status: 'success', result } };
}

function failed(statusCode: number, name: string, message: string): Reply {
  return { status: statusCode, json: { status: 'error', statusCode, message, meta: { code: -25, name } } };
}

function putOnly(): Reply {
  return { status: 405, headers: { Allow: 'PUT' } };
}
