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

const REMOTE_ID = 'RemoteId+of/Gate==';

/**
 * A web framework behind a gateway: field names with capitals, numbers for ids and texts for numbers, nulls, lists in
 * the manner of OData, bare arrays and maps, pictures behind a redirect, errors as problem details, and those of
 * the gateway as text, HTML or nothing.
 */
export class GatewayService extends ForeignService {
  protected readonly prefix = '/gw/system/v1';

  protected readonly cookies = new Cookies(
    {
      '.App.Core.Cookies': '; path=/; samesite=lax; httponly',
      '.App.Core.CookiesC1': '; path=/; expires=Thu, 31-Dec-2099 23:59:59 GMT',
    },
    [],
  );

  protected readonly routes: Readonly<Record<string, ForeignRoute>> = {
    'GET /Devices': ({ query }) => this.#devices(query.has('$skiptoken')),
    'GET /Devices(1001)': () => ({
      json: { Device: { ...this.#gate(), RemoteId: REMOTE_ID, Model: 'Dome' } },
    }),
    'GET /Devices(1001)/Sources': () => ({ json: this.#sources() }),
    'POST /Sessions': ({ json }) => this.#video(json),
    'GET /Pictures': ({ query }) => this.#picture(query),
    'GET /Blobs': ({ query }) => blob(query),
    'GET /Presets': () => ({ json: this.#presets() }),
    'POST /Presets/0/Go': () => this.#moved('preset 0', { status: 202, text: 'Accepted' }),
    'POST /Presets/7/Go': () => this.#moved('preset 7', { status: 200, text: '<html>done</html>' }),
    'POST /Home': () => this.#moved('home', { status: 204 }),
    'GET /Tours': () => ({ json: this.#tours() }),
    'POST /Tours/0/Start': () => this.#moved('tour 0 starts', { status: 200, json: { Ok: true } }),
    'POST /Tours/0/Stop': () => this.#moved('tour 0 stops', { status: 201 }),
  };

  settings(): Partial<StationClientOptions> {
    return {
      baseUrl: `${this.service.url}/gw/system/v1/system`,
      versionLow: '1',
      versionHigh: '2.0',
      loginUserField: 'UserName',
      loginPasswordField: 'Password',
    };
  }

  protected system(_request: ForeignRequest, loggedIn: boolean): Reply {
    const link = loggedIn
      ? { '/rel/Devices': { Href: './Devices?$top=2' } }
      : { Login: '/gw/system/v1/Login' };
    return {
      headers: { 'Content-Type': 'application/json; odata.metadata=none; version="2"' },
      json: { Id: '7', Name: 'Portal', _links: { Self: '/gw/system/v1/system', ...link } },
    };
  }

  protected logIn({ method, path, json }: ForeignRequest): Reply | undefined {
    if (method !== 'POST' || path !== '/Login') return undefined;
    const named = fieldOf(json, 'UserName') === this.service.username;
    if (!named || fieldOf(json, 'Password') !== this.service.password) {
      const errors = { Password: ['Name or password is wrong.'] };
      return problem(400, { type: '', status: 400, errors });
    }
    return { status: 204, headers: { 'Set-Cookie': this.cookies.next() } };
  }

  protected keyRefused(): Reply {
    return { status: 403, text: 'Access denied: subscription key' };
  }

  protected sessionOver(): Reply {
    const text = '<!DOCTYPE html><html><head><title>Sign in</title></head><body>again</body></html>';
    return { status: 401, headers: { 'Content-Type': 'text/html' }, text };
  }

  protected notFound(): Reply {
    return problem(404, { title: 'Not Found', detail: 'No resource is here.', status: 404 });
  }

  #devices(second: boolean): Reply {
    const next = { '@odata.nextLink': 'Devices?$skiptoken=a%2Fb%3D%3D' };
    const value = second ? [dock()] : [this.#gate(), yard()];
    return { json: { '@odata.context': '$metadata', '@odata.count': '3', value, ...(second ? {} : next) } };
  }

  #gate(): Record<string, unknown> {
    return {
      Id: 1001,
      Name: null,
      DisplayName: 'Gate',
      SiteName: 'Depot',
      Status: { State: 'Online', Since: null },
      _links: {
        '/rel/Self': { Href: 'Devices(1001)' },
        '/rel/Data_Sources': { Href: 'Devices(1001)/Sources', Templated: false },
      },
    };
  }

  #sources(): unknown {
    const links = {
      Rtsp: { Href: '../Sessions' },
      Snapshot: { Href: '../Pictures?Source=1' },
      Presets: { Href: '../Presets' },
      Tours: { Href: '../Tours' },
      Go_Home: { Href: '../Home' },
    };
    return [
      { Type: 'Audio', _links: {} },
      { Type: 'Video', Index: '1', _links: links },
    ];
  }

  #video(json: unknown): Reply {
    if (fieldOf(json, 'cameraId') !== REMOTE_ID) return problem(422, { errors: { cameraId: ['unknown'] } });
    this.told.sessions.push(json);
    return { json: { Data: { RtspRelayUrl: 'RTSP://u:p@[2001:db8::1]:8554/gateway?a=[1]' } } };
  }

  #picture(query: URLSearchParams): Reply {
    this.told.pictures.push(query.toString());
    return { status: 302, headers: { Location: './Blobs?sig=a%2Bb%3D' } };
  }

  #presets(): unknown {
    return {
      Items: [
        { Number: '0', Name: 'Door', _links: { Goto: { Href: 'Presets/0/Go' } } },
        { Number: 7, Name: null, _links: { Goto: { Href: 'Presets/7/Go' } } },
      ],
    };
  }

  #tours(): unknown {
    const links = { Start: { Href: 'Tours/0/Start' }, Stop: { Href: 'Tours/0/Stop' } };
    return { '0': { Name: 'Round', _links: links } };
  }

  #moved(what: string, reply: Reply): Reply {
    this.told.moves.push(what);
    return reply;
  }
}

function yard(): Record<string, unknown> {
  return { Id: 1002, Name: 'Yard', Status: { State: 'Offline' } };
}

function dock(): Record<string, unknown> {
  return { Id: '1003', Name: 'Dock', Status: { Value: 'ONLINE' }, _links: [] };
}

/** A picture without any word of its kind. */
function blob(query: URLSearchParams): Reply {
  if (query.get('sig') !== 'a+b=') return { status: 403 };
  return { headers: { 'Content-Type': 'application/octet-stream' }, bytes: JPEG };
}

function problem(status: number, json: Record<string, unknown>): Reply {
  return { status, headers: { 'Content-Type': 'application/problem+json' }, json };
}
