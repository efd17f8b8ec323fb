import * as fc from 'fast-check';
import { Store } from '../../../lib/inbox/sqlite/store';
import type { StoreCalls } from '../../../lib/inbox/store/protocol';
import { newSchema, StoreSession } from '../postgres/stores';
import { type Twin, TwinStores } from './twin-stores';

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

const ENDPOINTS = [':/north', ':/south', 'node-1', '8443:/a\u0000b'] as const;
const NODES = ['node-1', 'node-2'] as const;
const STATIONS = ['north', 'a\u0000b'] as const;
const IDS = [
  'one',
  'One',
  'two',
  '\u0001',
  '\u00010',
  '\u0000',
  "'; drop",
  '\ud800',
  '\\u0000',
  '港',
] as const;
const ALARMS = ['alarm', 'a\u0000', '\u0000a', '\\'] as const;

const LISTED = ['open', 'settled', 'dead', 'filtered', 'all'] as const;

const endpoint = fc.constantFrom(...ENDPOINTS);
const station = fc.constantFrom(...STATIONS);
/** Of the events that are known; of none where none is. Much happens to a few, or nothing would happen to one after the other. */
const which = fc.oneof(fc.nat(3), fc.nat(3), fc.nat(999));
/** Of the instances. */
const by = fc.nat(1);
const state = fc.constantFrom(
  'received' as const,
  'received' as const,
  'received' as const,
  'filtered' as const,
  'other' as const,
  'dead' as const,
  'stale' as const,
);
const lease = fc.constantFrom('no' as const, 'any' as const, 'ordered' as const);

const acceptance = fc.record({
  station,
  id: fc.oneof(fc.constantFrom(...IDS), fc.uuid(), fc.uuid()),
  named: fc.boolean(),
  fingerprint: fc.constantFrom('f1', 'f1', 'f2'),
  endpoint,
  state,
  rank: fc.constantFrom(0 as const, 1 as const),
  alarm: fc.option(fc.constantFrom(...ALARMS), { nil: undefined }),
  isEnd: fc.boolean(),
  received: fc.nat(4).map((hour) => Date.UTC(2026, 0, 1, hour)),
  facts: fc.constantFrom('{}', '{"text":"\u0000 \\u0000"}', '{"kind":"event"}'),
  bytes: fc.uint8Array({ maxLength: 8 }),
  lease,
});
type NewAcceptance = typeof acceptance extends fc.Arbitrary<infer Value> ? Value : never;

const list = fc.record({
  state: fc.constantFrom(...LISTED),
  since: fc.option(
    fc.nat(4).map((hour) => Date.UTC(2026, 0, 1, hour)),
    { nil: undefined },
  ),
  alarm: fc.option(fc.record({ station, alarmId: fc.constantFrom(...ALARMS) }), { nil: undefined }),
  limit: fc.constantFrom(1, 3, 100),
});

/** What may happen to an inbox. */
export const deed = fc.oneof(
  { weight: 30, arbitrary: fc.record({ do: fc.constant('accept' as const), message: acceptance, by }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('batch' as const),
      messages: fc.array(acceptance, { minLength: 2, maxLength: 8 }),
      by,
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({
      do: fc.constant('lease' as const),
      endpoint,
      limit: fc.constantFrom(1, 2, 10, 37, 100),
      health: fc.nat(3),
      ordered: fc.boolean(),
      by,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('giveBack' as const),
      unsent: fc.array(which, { maxLength: 3 }),
      cutOff: fc.array(which, { maxLength: 3 }),
      by,
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('lapse' as const),
      which,
      again: fc.constantFrom('lease' as const, 'retry' as const),
      maxAttempts: fc.integer({ min: 1, max: 3 }),
      isStranger: fc.boolean(),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('again' as const), which, isStranger: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('markDelivered' as const),
      which: fc.array(which, { maxLength: 3 }),
      by,
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      which,
      state: fc.constantFrom('delivered' as const, 'dead' as const),
      give: fc.boolean(),
      by,
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      do: fc.constantFrom('revive' as const, 'dismiss' as const, 'stateOf' as const),
      which,
      by,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('note' as const),
      which,
      step: fc.record(
        {
          time: fc.nat(1),
          step: fc.constantFrom('verdict' as const, 'extended' as const),
          by: fc.constantFrom('Anna', 'a\u0000', '港'),
          note: fc.constantFrom('\u0000', '\ud800', 'a "cat"'),
          verdict: fc.constantFrom('real' as const, 'false' as const),
        },
        { requiredKeys: ['time', 'step'] },
      ),
      ifOpen: fc.boolean(),
      by,
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('revived' as const), which, by }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('list' as const), query: list, by }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('listOne' as const), which, by }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('quarantine' as const),
      endpoint,
      address: fc.constantFrom('192.0.2.1', '192.0.2.2'),
      facts: fc.constantFrom('{}', '{"reason":"\u0000"}'),
      bytes: fc.uint8Array({ maxLength: 4 }),
      by,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('release' as const, 'releaseUpTo' as const),
      which,
      endpoint,
      by,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('claim' as const, 'claim' as const, 'leave' as const),
      endpoint,
      node: fc.constantFrom(...NODES),
      by,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('leave' as const), node: fc.constantFrom(...NODES), by }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('assign' as const), from: endpoint, to: endpoint, by }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('isKnown' as const), station, id: fc.constantFrom(...IDS), by }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('tidy' as const), // Not less: a pass begins from the start again once a day, each instance's own.
      days: fc.integer({ min: 2, max: 5 }),
      by,
    }),
  },
);
type Deed = typeof deed extends fc.Arbitrary<infer Value> ? Value : never;

/** As a message can come: what is no event has no alarm. */
function accepted({ lease: wished, ...message }: NewAcceptance): StoreCalls['accept']['take'] {
  const { alarm, ...rest } = message;
  const hasAlarm = alarm !== undefined && message.state === 'received';
  return {
    message: { ...rest, ...(hasAlarm && { alarm }), isEnd: message.isEnd && message.state === 'received' },
    lease: message.state === 'received' ? wished : 'no',
  };
}
