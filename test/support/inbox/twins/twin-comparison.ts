import { Store } from '../../../../lib/inbox/sqlite/store';
import { newSchema } from '../../postgres/shared-stores';
import { StoreSession } from '../../postgres/store-session';
import { accepted, ENDPOINTS, type Deed } from './twin-deeds';
import { TwinStores, type Twin } from './twin-stores';

const DAY = 24 * 60 * 60 * 1000;
const KEEP = { keys: 7 * DAY, bodies: 3 * DAY };

const NOBODY: Twin = { label: 'nobody', sqlite: 'no such id', postgres: 'no such id' };

/** Two stores, to which the same happens. */
export class Comparison {
  #now = 0;
  readonly #twins: TwinStores;

  private constructor(
    private readonly sqlite: Store,
    private readonly instances: readonly StoreSession[],
  ) {
    this.#twins = new TwinStores(sqlite, instances);
  }

  static async open(file: string, url: string): Promise<Comparison> {
    const clock = { now: 0 };
    const steady = (): number => clock.now;
    const schema = newSchema();
    const sqlite = new Store({ file, resumed: false, steady });
    const instances = [
      await StoreSession.open(url, { schema, steady }),
      await StoreSession.open(url, { schema, steady }),
    ];
    const comparison = new Comparison(sqlite, instances);
    comparison.#setClock = (now) => (clock.now = now);
    return comparison;
  }

  #setClock: (now: number) => void = () => undefined;

  async act(deed: Deed): Promise<void> {
    const twins = this.#twins;
    switch (deed.do) {
      case 'accept':
        return twins.accept([accepted(deed.message)], twins.instance(deed.by));
      case 'batch':
        return twins.accept(deed.messages.map(accepted), twins.instance(deed.by));
      case 'lease': {
        const { endpoint: at, limit, health, ordered } = deed;
        return twins.lease({ endpoint: at, limit, health, ordered }, twins.instance(deed.by));
      }
      case 'giveBack': {
        const unsent = this.#several(deed.unsent);
        const cutOff = this.#several(deed.cutOff).filter((twin) => !unsent.includes(twin));
        return twins.giveBack(unsent, cutOff, twins.instance(deed.by));
      }
      case 'lapse':
        return this.#lapse(deed);
      case 'again':
        return this.#again(deed);
      case 'markDelivered': {
        const marked = this.#several(deed.which);
        await twins.ask(
          'markDelivered',
          marked.map(({ sqlite }) => sqlite),
          { of: marked.map(({ postgres }) => postgres), by: twins.instance(deed.by) },
        );
        return;
      }
      case 'finish': {
        const { sqlite, postgres } = this.#one(deed.which);
        const how = { state: deed.state, give: deed.give };
        await twins.ask(
          'finish',
          { deliveryId: sqlite, ...how },
          { of: { deliveryId: postgres, ...how }, by: twins.instance(deed.by) },
        );
        return;
      }
      case 'revive':
      case 'dismiss':
      case 'stateOf': {
        const { sqlite, postgres } = this.#one(deed.which);
        const by = twins.instance(deed.by);
        if (deed.do === 'stateOf') await twins.ask('stateOf', sqlite, { of: postgres, by });
        else await twins.ask(deed.do, { deliveryId: sqlite }, { of: { deliveryId: postgres }, by });
        return;
      }
      case 'note': {
        const { sqlite, postgres } = this.#one(deed.which);
        const { step, ifOpen } = deed;
        await twins.ask(
          'note',
          { deliveryId: sqlite, step, ifOpen },
          { of: { deliveryId: postgres, step, ifOpen }, by: twins.instance(deed.by) },
        );
        return;
      }
      case 'revived':
        return this.#reviveAndLapse(deed);
      case 'list':
        await twins.ask('list', deed.query, { by: twins.instance(deed.by) });
        return;
      case 'listOne': {
        const { sqlite, postgres } = this.#one(deed.which);
        const query = { state: 'open' as const, limit: 9 };
        await twins.ask(
          'list',
          { ...query, deliveryId: sqlite },
          { of: { ...query, deliveryId: postgres }, by: twins.instance(deed.by) },
        );
        return;
      }
      case 'quarantine': {
        const { endpoint: at, address, facts, bytes } = deed;
        return twins.quarantine({ endpoint: at, address, facts, bytes }, twins.instance(deed.by));
      }
      case 'release': {
        const { sqlite, postgres } = this.#quarantined(deed.which);
        await twins.ask('release', [sqlite], { of: [postgres], by: twins.instance(deed.by) });
        return;
      }
      case 'releaseUpTo': {
        const { sqlite, postgres } = this.#quarantined(deed.which);
        const upTo = { endpoint: deed.endpoint };
        await twins.ask(
          'releaseUpTo',
          { ...upTo, id: sqlite },
          { of: { ...upTo, id: postgres }, by: twins.instance(deed.by) },
        );
        return;
      }
      case 'claim':
        await twins.ask(
          'claimEndpoint',
          { endpoint: deed.endpoint, node: deed.node },
          { by: twins.instance(deed.by) },
        );
        return;
      case 'leave':
        await twins.ask('leaveEndpoint', { node: deed.node }, { by: twins.instance(deed.by) });
        return;
      case 'assign':
        await twins.ask('assign', { from: deed.from, to: deed.to }, { by: twins.instance(deed.by) });
        return;
      case 'isKnown':
        await twins.ask('isKnown', { station: deed.station, id: deed.id }, { by: twins.instance(deed.by) });
        return;
      case 'tidy':
        return this.#tidy(deed);
    }
  }

  /** Of all that can be seen. */
  async compareAll(): Promise<void> {
    const twins = this.#twins;
    for (const shown of ['open', 'settled', 'dead', 'all'] as const) {
      await twins.ask('list', { state: shown, limit: 10_000, history: true });
      const page = { state: shown, since: 0, until: Number.MAX_SAFE_INTEGER, limit: 10_000 };
      await twins.ask('page', { ...page, bodies: true, steps: true });
    }
    await twins.ask('openByEndpoint', undefined);
    await twins.ask('quarantinedSums', undefined);
    for (const each of ENDPOINTS) {
      await twins.leased(each);
      await twins.ask('quarantined', each);
    }
  }

  async close(): Promise<void> {
    this.sqlite.close();
    for (const instance of this.instances) await instance.close();
  }

  #one(index: number): Twin {
    const { twins } = this.#twins;
    return twins[index % (twins.length + 1)] ?? NOBODY;
  }

  #several(indexes: readonly number[]): Twin[] {
    return [...new Set(indexes.map((index) => this.#one(index)))];
  }

  #quarantined(index: number): { sqlite: number; postgres: number } {
    const { quarantined } = this.#twins;
    return quarantined[index % (quarantined.length + 1)] ?? { sqlite: 1e9, postgres: 1e9 };
  }

  /** Who has not leased it has no say: nothing is done. */
  async #lapse({
    which: index,
    again,
    maxAttempts,
    isStranger,
  }: Extract<Deed, { do: 'lapse' }>): Promise<void> {
    const twin = this.#one(index);
    const how = { again, maxAttempts };
    const of = { deliveryId: twin.postgres, ...how };
    if (isStranger)
      this.#twins.compare('lapse', undefined, await this.#twins.strangerTo(twin).call('lapse', of));
    await this.#twins.ask(
      'lapse',
      { deliveryId: twin.sqlite, ...how },
      { of, by: this.#twins.holderOf(twin) },
    );
  }

  async #again({ which: index, isStranger }: Extract<Deed, { do: 'again' }>): Promise<void> {
    const twin = this.#one(index);
    const { sqlite, postgres } = twin;
    if (isStranger)
      this.#twins.compare('again', undefined, await this.#twins.strangerTo(twin).call('again', postgres));
    await this.#twins.ask('again', sqlite, { of: postgres, by: this.#twins.holderOf(twin) });
  }

  /** Out of the dead letters, it has all its attempts again. */
  async #reviveAndLapse({ which: index, by: whose }: Extract<Deed, { do: 'revived' }>): Promise<void> {
    const twin = this.#one(index);
    const by = this.#twins.instance(whose);
    const [row] = this.#twins.inSqlite('list', { state: 'open', deliveryId: twin.sqlite, limit: 1 });
    const all = { endpoint: row?.endpoint ?? '', limit: 100, health: 100, ordered: false };
    for (const maxAttempts of [1, 2]) {
      await this.#twins.ask('revive', { deliveryId: twin.sqlite }, { of: { deliveryId: twin.postgres }, by });
      await this.#twins.lease(all, by);
      await this.#lapse({ do: 'lapse', which: index, again: 'lease', maxAttempts, isStranger: false });
    }
  }

  async #tidy({ days, by: index }: Extract<Deed, { do: 'tidy' }>): Promise<void> {
    this.#now += days * DAY;
    this.#setClock(this.#now);
    while (this.#twins.inSqlite('tidy', KEEP));
    while (await this.#twins.instance(index).call('tidy', KEEP));
    await this.compareAll();
  }
}
