import { Refusal } from '../refusal';
import type { Site, SiteState, World } from './world';

/** An entry of the provider's Customers list. */
export interface CustomerEntry {
  id: string;
  name: string;
  siteId: string;
  siteName: string;
  state: SiteState;
}

/** How sites come to the provider (specification, section 3): code applied, Pending Request, accepted. */
export class Onboarding {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /**
   * The customer applies the code of the provider's service package to a site. Again on a Pending Request changes
   * nothing. @throws Refusal 409 for another code or an accepted site, 404 for no such site
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
