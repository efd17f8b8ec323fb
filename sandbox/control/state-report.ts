import type { Clock } from '../world/clock';
import type { Faults } from '../world/faults';
import type { Ptz } from '../api/ptz';
import type { Sender } from '../webhooks/sender';
import type { Sessions } from '../api/sessions';
import type { Stations } from '../world/stations';
import type { World } from '../world/world';

interface StateSources {
  clock: Clock;
  faults: Faults;
  ptz: Ptz;
  sender: Sender;
  sessions: Sessions;
  stations: Stations;
  world: World;
  versions: readonly string[];
  addresses: { url: string; rtspUrl: string };
  /** Of the RTSP server; `opened`: all sessions that there ever were. */
  video: { connections: number; sessions: number; opened: number };
}

/** What `GET /sandbox/state` tells: all of the sandbox's inside, but no key, password or phrase. */
export function stateReport(sources: StateSources): object {
  const { clock, faults, sender, sessions, world, versions, addresses, video } = sources;
  return {
    ...addresses,
    now: new Date(clock.now()).toISOString(),
    versions,
    packageCode: world.packageCode,
    sites: world.sites.map(({ id, name, state, customer, cameras }) => ({
      id,
      name,
      state,
      customerId: customer.id,
      customerName: customer.name,
      cameras: cameras.length,
    })),
    cameras: camerasOf(sources),
    stations: stationsOf(sources),
    sessions: sessions.count,
    video,
    faults: faults.list(),
    pendingDeliveries: sender.list().filter(({ state }) => state === 'pending').length,
  };
}

function camerasOf({ world, ptz }: StateSources): object[] {
  return world.cameras.map((camera) => ({
    id: camera.id,
    remoteId: camera.remoteId,
    name: camera.name,
    siteId: camera.site.id,
    status: camera.status,
    ptz: ptz.state(camera) ?? null,
  }));
}

function stationsOf({ stations, sender }: StateSources): object[] {
  const targets = sender.targets();
  return stations.list().map(({ key, name, scheme, agentUserId, agentUserTenantId }) => ({
    key,
    name,
    scheme,
    agentUserId,
    agentUserTenantId,
    endpoints: targets.filter(({ station }) => station.key === key).length,
  }));
}
