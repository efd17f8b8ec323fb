import { Refusal } from '../refusal';
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
type SiteState = 'no request' | 'pending' | 'accepted';

export interface Site {
  id: string;
  name: string;
  state: SiteState;
  customer: { id: string; name: string };
  server: { id: string; name: string };
  gatewayId: string;
  cameras: Camera[];
}

export interface World {
  system: { id: string; name: string };
  /** Code of the provider's Remote Monitoring service package. */
  packageCode: string;
  sites: readonly Site[];
  /** In the order in which the service lists them. */
  cameras: readonly Camera[];
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

/**
 * The provider's customers, sites and cameras. After the requested sites follow one to which the package code has not been
 * applied yet, so that onboarding can be tried from its first step, and `furtherPending` sites that are a Pending Request.
 */
export function buildWorld(options: {
  seed: number;
  cameras: number;
  sites: number;
  pending: number;
  furtherPending: number;
}): World {
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
    system: { id: seededUuid(seed, 'system'), name: 'SANDBOX Remote Monitoring' },
    packageCode: `SANDBOX-${seededUuid(seed, 'package').slice(0, 8).toUpperCase()}`,
    sites: [...sites, ...newcomers],
    cameras: [...cameras, ...newCameras].filter((camera) => camera !== undefined),
  };
}

/** Cameras that the provider has access to (specification, section 3): they are listed and send events. */
export function accessibleCameras(world: World): Camera[] {
  return world.cameras.filter((camera) => camera.site.state === 'accepted');
}

/** A camera by id, by remote id, or by exact name. */
export function findCamera(world: World, key: string): Camera | undefined {
  return (
    world.cameras.find((camera) => camera.id === key || camera.remoteId === key) ??
    world.cameras.find((camera) => camera.name === key)
  );
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

/** An entry of the provider's Customers list. */
export interface CustomerEntry {
  id: string;
  name: string;
  siteId: string;
  siteName: string;
  state: SiteState;
}

/** Onboarding of sites (specification, section 3): code applied, Pending Request, accepted. */
export class Onboarding {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /**
   * Applies the code of the provider's service package to a site, as the customer does. Idempotent for a Pending Request.
   * @throws Refusal 409 for a wrong code or an accepted site, 404 if there is no such site
   */
  applyCode(code: string, siteId: string): CustomerEntry {
    if (code !== this.#world.packageCode) {
      throw new Refusal(409, 'WrongCode', 'This is not the code of the provider’s service package.', {
        field: 'code',
      });
    }
    const site = this.#world.sites.find(({ id }) => id === siteId);
    if (site === undefined) {
      throw new Refusal(404, 'SiteNotFound', 'There is no such site; GET /sandbox/state lists them.');
    }
    if (site.state === 'accepted') {
      throw new Refusal(409, 'AlreadyAccepted', 'The code was applied before, and the provider accepted it.');
    }
    site.state = 'pending';
    return entryOf(site);
  }

  /** The provider's Customers list: Pending Requests and regular entries. */
  customers(): CustomerEntry[] {
    return this.#world.sites.filter(({ state }) => state !== 'no request').map(entryOf);
  }

  /** The provider accepts a Pending Request. @throws Refusal 404 for a customer that is not in the list */
  accept(customerId: string): CustomerEntry {
    const site = this.#world.sites.find(({ customer }) => customer.id === customerId);
    if (site === undefined || site.state === 'no request') {
      throw new Refusal(
        404,
        'CustomerNotFound',
        'There is no such customer; GET /sandbox/customers lists them.',
      );
    }
    site.state = 'accepted';
    return entryOf(site);
  }
}

function entryOf(site: Site): CustomerEntry {
  const { customer, id, name, state } = site;
  return { id: customer.id, name: customer.name, siteId: id, siteName: name, state };
}
