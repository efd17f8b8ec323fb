import type { LiveStyle, RemoteIdPlace } from '../options';
import { badRequest, Refusal } from '../refusal';
import type { RtspServer } from '../rtsp/server';
import { parseIsoTime } from '../text';
import type { Camera } from '../world/sites';
import { requestedRange, selectVersion } from '../world/versions';
import type { World } from '../world/world';
import { type Answer, type Body, jsonBody, optionalText, requiredText } from './http-server';
import { get, type LoginSessions, type ServiceRequest, type ServiceRoute } from './service';

/** The System resource with its version negotiation, and the login (specification, sections 2, 5 and 9). */
export function systemRoutes(
  world: World,
  supportedVersions: readonly string[],
  sessions: LoginSessions,
): ServiceRoute[] {
  const system = get('/system', 'system', (request) => systemResource(request, world, supportedVersions));
  return [
    { ...system, withoutLogin: true },
    {
      method: 'POST',
      path: 'login',
      relation: 'rel/login',
      withoutLogin: true,
      answer: (request) => login(request, world, sessions),
    },
  ];
}

function systemResource(request: ServiceRequest, world: World, supportedVersions: readonly string[]): Answer {
  const version = negotiate(request.call.headers.accept, supportedVersions);
  const link = (path: string): string => request.link(path, version);
  const offered =
    request.station === undefined ? { 'rel/login': link('login') } : { 'rel/devices': link('devices') };
  return {
    status: 200,
    headers: { 'Content-Type': `application/json; version=${version}` },
    body: {
      ...world.system,
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

function login(request: ServiceRequest, { stations }: World, sessions: LoginSessions): Answer {
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

const PAGE_SIZE = 100;

/** Device list, details, data sources, RTSP sessions, snapshots (specification, sections 2 and 4). */
export function cameraRoutes(
  world: World,
  rtsp: RtspServer,
  { remoteId, liveStyle }: { remoteId: RemoteIdPlace; liveStyle: LiveStyle },
): ServiceRoute[] {
  return [
    get('devices', 'rel/devices', (request) => collection(request, world, remoteId)),
    get('devices/:camera', 'rel/self', (request) => details(request, world, remoteId)),
    get('devices/:camera/data-sources', 'rel/data_sources', (request) => dataSources(request, world)),
    get('devices/:camera/snapshot', 'rel/snapshot', (request) => snapshot(request, world)),
    {
      method: 'POST',
      path: 'devices/:camera/rtsp',
      relation: 'rel/rtsp',
      answer: (request) => rtspSession(request, world, rtsp, liveStyle),
    },
  ];
}

function collection(request: ServiceRequest, world: World, remoteId: RemoteIdPlace): Answer {
  const cameras = world.accessibleCameras();
  const start = Math.max(0, Number.parseInt(request.call.query.get('start') ?? '0', 10) || 0);
  const page = cameras.slice(start, start + PAGE_SIZE);
  const next = start + PAGE_SIZE;
  const links = {
    'rel/self': request.link(start === 0 ? 'devices' : `devices?start=${start}`),
    next: next < cameras.length ? request.link(`devices?start=${next}`) : undefined,
  };
  return ok({
    devices: page.map((camera) => record(request, camera, world, remoteId === 'record')),
    total: cameras.length,
    _links: links,
    _system_id: world.system.id,
    _type: 'Devices',
  });
}

function record(request: ServiceRequest, camera: Camera, world: World, withRemoteId: boolean): object {
  return {
    id: camera.id,
    remoteId: withRemoteId ? camera.remoteId : undefined,
    name: camera.name,
    siteId: camera.site.id,
    siteName: camera.site.name,
    status: shownStatus(request, camera),
    _links: {
      'rel/self': request.link(`devices/${camera.id}`),
      'rel/data_sources': request.link(`devices/${camera.id}/data-sources`),
    },
    _system_id: world.system.id,
    _type: 'Device',
  };
}

function shownStatus(request: ServiceRequest, camera: Camera): string {
  if (request.isOnline(camera)) return 'online';
  return camera.status === 'online' ? 'offline' : camera.status;
}

function details(request: ServiceRequest, world: World, remoteId: RemoteIdPlace): Answer {
  const camera = request.camera();
  return ok({
    ...record(request, camera, world, remoteId !== 'none'),
    serverId: camera.site.server.id,
    serverName: camera.site.server.name,
    manufacturer: 'SANDBOX',
    model: camera.ptz === undefined ? 'Fixed camera' : 'PTZ camera',
    ptz: camera.ptz !== undefined,
  });
}

function dataSources(request: ServiceRequest, world: World): Answer {
  const camera = request.camera();
  const link = (name: string): string => request.link(`devices/${camera.id}/${name}`);
  const ptz = {
    'rel/ptz_presets': link('ptz-presets'),
    'rel/ptz_tours': link('ptz-tours'),
    'rel/ptz_home': link('ptz-home'),
  };
  return ok({
    deviceId: camera.id,
    _links: {
      'rel/self': link('data-sources'),
      'rel/rtsp': link('rtsp'),
      'rel/snapshot': link('snapshot'),
      ...(camera.ptz === undefined ? {} : ptz),
    },
    _system_id: world.system.id,
    _type: 'DataSources',
  });
}

function ok(body: object): Answer {
  return { status: 200, body };
}

const QUALITIES = ['high', 'low'];
const LIVE_HINTS: Record<LiveStyle, string> = {
  omit: 'Live video is asked for without t and search.',
  live: 'Live video is asked for with t "live" and search "false".',
};

/**
 * An RTSP session, live or recorded (specification, section 2, RTSP session request): recorded video requires `t` and the text
 * `true` in `search`. The specification does not show the request for live video; the sandbox accepts only the form of
 * `liveStyle`. `cameraId` is the remote id; the id of the device is refused.
 */
function rtspSession(
  request: ServiceRequest,
  { clock, faults, incidents }: World,
  rtsp: RtspServer,
  liveStyle: LiveStyle,
): Answer {
  const camera = request.onlineCamera();
  const body = jsonBody(request.call.body);
  checkCamera(camera, requiredText(body, 'cameraId'));
  const quality = requiredText(body, 'quality');
  if (!QUALITIES.includes(quality)) throw badRequest('quality must be high or low.', 'quality');
  const start = recordedStart(body, liveStyle);
  const late = faults.lateness(camera);
  if (late?.way === 'code' && start !== undefined) checkIsThere(start, clock.now() - late.seconds * 1000);
  const rtspRelayURL = rtsp.grant({
    cameraId: camera.id,
    cameraName: camera.name,
    // Sessions are limited per station, so that one station cannot use up the sessions of another.
    owner: request.station,
    view: incidents.viewOf(camera),
    late: late === undefined || late.way === 'code' ? undefined : { seconds: late.seconds, way: late.way },
    start,
  });
  return ok({ rtspRelayURL });
}

function checkCamera(camera: Camera, cameraId: string): void {
  if (cameraId === camera.remoteId) return;
  if (cameraId.toLowerCase() === camera.id) {
    throw badRequest('cameraId must be the remote id of the camera, not the id of the device.', 'cameraId');
  }
  const message = 'No camera behind this link has this remote id.';
  throw new Refusal(404, 'CameraNotFound', message, { field: 'cameraId' });
}

/** @throws Refusal 404 NoAvailableStreams, one of the service's codes for a recording not there yet */
function checkIsThere(start: number, recordedTo: number): void {
  if (start <= recordedTo) return;
  throw new Refusal(404, 'NoAvailableStreams', 'There is no recording of this time yet.', { field: 't' });
}

/** Undefined for live video. */
function recordedStart(body: Body, liveStyle: LiveStyle): number | undefined {
  const { search } = body;
  const t = optionalText(body, 't');
  if (isLive(t, search, liveStyle)) return undefined;
  if (search !== 'true') {
    const message = `search must be the text "true" for recorded video. ${LIVE_HINTS[liveStyle]}`;
    throw badRequest(message, 'search');
  }
  const start = t === undefined ? undefined : parseIsoTime(t);
  if (start === undefined) throw badRequest('t must be an ISO 8601 time for recorded video.', 't');
  return start;
}

function isLive(t: string | undefined, search: unknown, liveStyle: LiveStyle): boolean {
  if (liveStyle === 'omit') return t === undefined && search === undefined;
  return t === 'live' && search === 'false';
}

const DEFAULT_WIDTH = 320;

/** The current picture as JPEG: the largest that is not wider than `width` pixels, else the smallest. */
async function snapshot(request: ServiceRequest, { clock, incidents, scenes }: World): Promise<Answer> {
  const camera = request.onlineCamera();
  const now = clock.now();
  const wanted = widthOf(request.call.query.get('width'));
  const stills = await scenes.stills(camera.scene);
  return {
    status: 200,
    headers: {
      'Content-Type': 'image/jpeg',
      'X-Resource-Timestamp': new Date(now).toISOString(),
      'Content-Disposition': `inline; filename="${camera.name.replaceAll(' ', '-')}.jpg"`,
    },
    body: stills.jpeg(Math.floor(now / 1000), incidents.viewOf(camera), wanted),
  };
}

function widthOf(text: string | null): number {
  if (text === null || text === '') return DEFAULT_WIDTH;
  const width = Number(text);
  if (!Number.isInteger(width) || width < 1 || width > 10_000) {
    throw badRequest('width must be a whole number from 1 to 10000.', 'width');
  }
  return width;
}
