import type { SceneName } from '../scene/scenes';
import { seededToken, seededUuid } from './seeded';

/** A preset or tour; ids are small integers from 0. */
export interface PtzTarget {
  id: number;
  name: string;
}

export interface Camera {
  /** The id of the device record and of the event field `cameraId`. */
  id: string;
  /** The id in the request for an RTSP session and in the event field `cameraRemoteId`. */
  remoteId: string;
  name: string;
  site: Site;
  scene: SceneName;
  /** True if the camera has a microphone. */
  sound: boolean;
  /** True if its recordings become available only after some seconds. */
  recordsLate: boolean;
  /** `online`, or the word the service shows instead. */
  status: string;
  /** Undefined for a fixed camera. */
  ptz: { presets: readonly PtzTarget[]; tours: readonly PtzTarget[] } | undefined;
}

/** Specification, section 3: no request, Pending Request, regular customer entry. */
export type SiteState = 'no request' | 'pending' | 'accepted';

export interface Site {
  id: string;
  name: string;
  state: SiteState;
  customer: { id: string; name: string };
  server: { id: string; name: string };
  gatewayId: string;
  cameras: Camera[];
}

const PLACES = [
  'Harbour Depot',
  'Solar Park East',
  'Timber Yard',
  'Ring Road Garage',
  'Old Quarry',
  'River Pumping Station',
  'North Container Terminal',
  'Garden Centre',
];
/** Names of cameras, and their scenes. */
const VIEWS: readonly { name: string; scene: SceneName }[] = [
  { name: 'Gate', scene: 'gate' },
  { name: 'Yard', scene: 'yard' },
  { name: 'Loading Bay', scene: 'dock' },
  { name: 'North Fence', scene: 'fence' },
  { name: 'South Fence', scene: 'fence' },
  { name: 'Car Park', scene: 'car-park' },
  { name: 'Entrance', scene: 'gate' },
  { name: 'Roof', scene: 'yard' },
  { name: 'Fuel Store', scene: 'fuel-store' },
  { name: 'Weighbridge', scene: 'yard' },
  { name: 'Office', scene: 'car-park' },
  { name: 'Back Door', scene: 'dock' },
];
const WITH_MICROPHONE = 'Loading Bay';
const LATE = 'South Fence';
const PRESETS = ['Entrance', 'Fence Line', 'Far Corner', 'Loading Ramp'];
const TOURS = ['Perimeter', 'Night Round'];
/** Cameras of each additional site. */
const NEWCOMER_CAMERAS = 2;

/** What sites and cameras there are, and the seed of their ids. */
export interface SiteOptions {
  seed: number;
  cameras: number;
  sites: number;
  pending: number;
  furtherPending: number;
}

/**
 * The provider's sites, and their cameras in the order in which the service lists them. After the requested sites follow one to
 * which the package code has not been applied yet, so that onboarding can be tried from its first step, and `furtherPending`
 * sites that are a Pending Request.
 */
export function buildSites(options: SiteOptions): { sites: Site[]; cameras: Camera[] } {
  const { seed } = options;
  const sites = Array.from({ length: options.sites }, (_, index) =>
    buildSite(seed, index, index < options.sites - options.pending ? 'accepted' : 'pending'),
  );
  const cameras = Array.from({ length: options.cameras }, (_, index) =>
    buildCamera(seed, index, sites[index % sites.length]),
  );
  const newcomers = Array.from({ length: 1 + options.furtherPending }, (_, index) =>
    buildSite(seed, options.sites + index, index === 0 ? 'no request' : 'pending'),
  );
  const newCameras = Array.from({ length: newcomers.length * NEWCOMER_CAMERAS }, (_, index) =>
    buildCamera(seed, options.cameras + index, newcomers[Math.floor(index / NEWCOMER_CAMERAS)]),
  );
  return {
    sites: [...sites, ...newcomers],
    cameras: [...cameras, ...newCameras].filter((camera) => camera !== undefined),
  };
}

function buildSite(seed: number, index: number, state: SiteState): Site {
  const place = placeName(index);
  return {
    id: seededUuid(seed, `site ${index}`),
    name: `SANDBOX ${place}`,
    state,
    customer: { id: seededUuid(seed, `customer ${index}`), name: `SANDBOX ${place} Ltd` },
    server: { id: seededUuid(seed, `server ${index}`), name: `SANDBOX Server ${index + 1}` },
    gatewayId: seededUuid(seed, `gateway ${index}`),
    cameras: [],
  };
}

function placeName(index: number): string {
  const round = Math.floor(index / PLACES.length);
  const place = PLACES[index % PLACES.length] ?? 'Site';
  return round === 0 ? place : `${place} ${round + 1}`;
}

function buildCamera(seed: number, index: number, site: Site | undefined): Camera | undefined {
  if (site === undefined) return undefined;
  const { name, scene } = VIEWS[index % VIEWS.length] ?? { name: 'View', scene: 'gate' };
  const camera: Camera = {
    id: seededUuid(seed, `camera ${index}`),
    remoteId: seededToken(seed, `remote camera ${index}`),
    name: `SANDBOX ${name} ${Math.floor(index / VIEWS.length) + 1}`,
    site,
    scene,
    sound: name === WITH_MICROPHONE,
    recordsLate: name === LATE,
    status: index % 12 === 7 ? 'offline' : 'online',
    ptz: index % 4 === 0 ? { presets: targets(PRESETS), tours: targets(TOURS) } : undefined,
  };
  site.cameras.push(camera);
  return camera;
}

function targets(names: readonly string[]): PtzTarget[] {
  return names.map((name, id) => ({ id, name }));
}
