import { Refusal } from '../refusal';
import { Scenes } from '../scene/scenes';
import { Clock } from './clock';
import { ApiFaultInjector } from './faults';
import { Clips, Incidents } from './incidents';
import { seededUuid } from './seeded';
import { buildSites, type Camera, type Site, type SiteOptions, type SiteState } from './sites';
import { Stations } from './stations';

/** An entry of the provider's Customers list. */
export interface CustomerEntry {
  id: string;
  name: string;
  siteId: string;
  siteName: string;
  state: SiteState;
}

/** What the sandbox plays: the provider, its Central Stations, customers and cameras, and what happens there, by one clock. */
export class World {
  readonly clock = new Clock();
  readonly stations = new Stations();
  readonly faults = new ApiFaultInjector();
  readonly incidents = new Incidents();
  readonly clips = new Clips();
  readonly scenes = new Scenes();
  readonly system: { id: string; name: string };
  /** Code of the provider's Remote Monitoring service package. */
  readonly packageCode: string;
  readonly sites: readonly Site[];
  /** In the order in which the service lists them. */
  readonly cameras: readonly Camera[];

  constructor(options: SiteOptions) {
    const { seed } = options;
    this.system = { id: seededUuid(seed, 'system'), name: 'SANDBOX Remote Monitoring' };
    this.packageCode = `SANDBOX-${seededUuid(seed, 'package').slice(0, 8).toUpperCase()}`;
    ({ sites: this.sites, cameras: this.cameras } = buildSites(options));
  }

  /** Cameras that the provider has access to (specification, section 3): they are listed and send events. */
  accessibleCameras(): Camera[] {
    return this.cameras.filter((camera) => camera.site.state === 'accepted');
  }

  /** A camera by id, by remote id, or by exact name. @throws Refusal 404 */
  camera(key: string): Camera {
    const camera =
      this.cameras.find(({ id, remoteId }) => id === key || remoteId === key) ??
      this.cameras.find(({ name }) => name === key);
    if (camera !== undefined) return camera;
    throw new Refusal(404, 'CameraNotFound', 'There is no camera with this id or name.', { field: 'camera' });
  }

  /**
   * Applies the code of the provider's service package to a site, as the customer does (specification, section 3). Idempotent
   * for a Pending Request.
   * @throws Refusal 409 for a wrong code or an accepted site, 404 if there is no such site
   */
  applyCode(code: string, siteId: string): CustomerEntry {
    if (code !== this.packageCode) {
      const message = 'This is not the code of the provider’s service package.';
      throw new Refusal(409, 'WrongCode', message, { field: 'code' });
    }
    const site = this.sites.find(({ id }) => id === siteId);
    if (site === undefined)
      throw new Refusal(404, 'SiteNotFound', 'There is no such site; GET /sandbox/state lists them.');
    if (site.state === 'accepted')
      throw new Refusal(409, 'AlreadyAccepted', 'The code was applied before, and the provider accepted it.');
    site.state = 'pending';
    return entryOf(site);
  }

  /** The provider's Customers list: Pending Requests and regular entries. */
  customers(): CustomerEntry[] {
    return this.sites.filter(({ state }) => state !== 'no request').map(entryOf);
  }

  /** The provider accepts a Pending Request. @throws Refusal 404 for a customer that is not in the list */
  accept(customerId: string): CustomerEntry {
    const site = this.sites.find(({ customer }) => customer.id === customerId);
    if (site === undefined || site.state === 'no request') {
      const message = 'There is no such customer; GET /sandbox/customers lists them.';
      throw new Refusal(404, 'CustomerNotFound', message);
    }
    site.state = 'accepted';
    return entryOf(site);
  }
}

function entryOf(site: Site): CustomerEntry {
  const { customer, id, name, state } = site;
  return { id: customer.id, name: customer.name, siteId: id, siteName: name, state };
}
