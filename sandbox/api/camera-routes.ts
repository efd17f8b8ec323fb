import type { Answer } from './http-server';
import type { LiveStyle, RemoteIdPlace } from '../options';
import type { ServiceRequest, ServiceRoute } from './service';
import { snapshot } from './snapshot';
import { rtspSession, type GrantRtsp } from './rtsp-session';
import type { Scenes } from '../scene/scenes';
import type { Incidents } from '../world/incidents';
import { accessibleCameras, type Camera, type World } from '../world/world';

interface CameraOptions {
  world: World;
  remoteId: RemoteIdPlace;
  liveStyle: LiveStyle;
  now: () => number;
  scenes: Scenes;
  incidents: Incidents;
  grantRtsp: GrantRtsp;
}

const PAGE_SIZE = 100;

/** The device collection, details, data sources, RTSP sessions and snapshots (specification, sections 2 and 4). */
export function cameraRoutes(options: CameraOptions): ServiceRoute[] {
  const { world, remoteId, now, scenes, incidents } = options;
  return [
    get('devices', 'rel/devices', (request) => collection(request, world, remoteId)),
    get('devices/:camera', 'rel/self', (request) => details(request, world, remoteId)),
    get('devices/:camera/data-sources', 'rel/data_sources', (request) => dataSources(request, world)),
    get('devices/:camera/snapshot', 'rel/snapshot', (request) =>
      snapshot(request.onlineCamera(), request.call.query.get('width'), {
        scenes,
        incidents,
        now: now(),
      }),
    ),
    {
      method: 'POST',
      path: 'devices/:camera/rtsp',
      relation: 'rel/rtsp',
      answer: (request) => rtspSession(request, options),
    },
  ];
}

function get(path: string, relation: string, answer: ServiceRoute['answer']): ServiceRoute {
  return { method: 'GET', path, relation, answer };
}

function collection(request: ServiceRequest, world: World, remoteId: RemoteIdPlace): Answer {
  const cameras = accessibleCameras(world);
  const start = Math.max(0, Number.parseInt(request.call.query.get('start') ?? '0', 10) || 0);
  const page = cameras.slice(start, start + PAGE_SIZE);
  const next = start + PAGE_SIZE;
  const links = {
    'rel/self': request.link(start === 0 ? 'devices' : `devices?start=${start}`),
    ...(next < cameras.length ? { next: request.link(`devices?start=${next}`) } : {}),
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
    ...(withRemoteId ? { remoteId: camera.remoteId } : {}),
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
