import type { Answer } from './http-server';
import { jsonBody, requiredText } from './json-body';
import { Refusal } from '../refusal';
import type { ServiceRequest, ServiceRoute } from './service';
import type { Sessions } from './sessions';
import type { Stations } from '../world/stations';
import { requestedRange, selectVersion } from '../world/versions';
import type { World } from '../world/world';

interface SystemOptions {
  world: World;
  supportedVersions: readonly string[];
  stations: Stations;
  sessions: Sessions;
}

/** The System resource with its version negotiation, and the login (specification, sections 2, 5 and 9). */
export function systemRoutes(options: SystemOptions): ServiceRoute[] {
  return [
    {
      method: 'GET',
      path: '/system',
      relation: 'system',
      withoutLogin: true,
      answer: (request) => systemResource(request, options),
    },
    {
      method: 'POST',
      path: 'login',
      relation: 'rel/login',
      withoutLogin: true,
      answer: (request) => login(request, options),
    },
  ];
}

function systemResource(request: ServiceRequest, { world, supportedVersions }: SystemOptions): Answer {
  const version = negotiate(request.call.headers.accept, supportedVersions);
  const link = (path: string): string => request.link(path, version);
  const offered =
    request.station === undefined ? { 'rel/login': link('login') } : { 'rel/devices': link('devices') };
  return {
    status: 200,
    headers: { 'Content-Type': `application/json; version=${version}` },
    body: {
      id: world.system.id,
      name: world.system.name,
      _links: { 'rel/self': '/system', ...offered },
      _system_id: world.system.id,
      _type: 'System',
    },
  };
}

function negotiate(accept: string | undefined, supported: readonly string[]): string {
  const range = requestedRange(accept);
  if (range === undefined) {
    const message = 'No version is requested: send Accept: application/json; version=<low>-<high>.';
    throw new Refusal(406, 'VersionNotRequested', message);
  }
  const version = selectVersion(range, supported);
  if (version !== undefined) return version;
  throw new Refusal(501, 'VersionNotSupported', 'No version in the requested range is supported.');
}

function login(request: ServiceRequest, { stations, sessions }: SystemOptions): Answer {
  const body = jsonBody(request.call.body);
  const station = stations.login(requiredText(body, 'username'), requiredText(body, 'password'));
  if (station === undefined) {
    throw new Refusal(401, 'LoginFailed', 'The name or the password of the Agent User is wrong.');
  }
  return {
    status: 200,
    headers: { 'Set-Cookie': sessions.open(station.key) },
    body: { _type: 'Login', agentUserId: station.agentUserId, _links: { 'rel/system': '/system' } },
  };
}
