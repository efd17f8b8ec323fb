import * as fc from 'fast-check';
import { Store } from '../../../lib/inbox/sqlite/store';
import type { StoreCalls } from '../../../lib/inbox/store/port';
import { may, one } from '../suite/deeds';
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
    const sqlite = new Store({ file, resumed: false, monotonic: steady });
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
      case 'finish':
        return this.#askOf('finish', deed, (deliveryId) => ({
          deliveryId,
          state: deed.state,
          give: deed.give,
        }));
      case 'revive':
      case 'dismiss':
        return this.#askOf(deed.do, deed, (deliveryId) => ({ deliveryId }));
      case 'stateOf':
        return this.#askOf('stateOf', deed, (deliveryId) => deliveryId);
      case 'note':
        return this.#askOf('note', deed, (deliveryId) => ({
          deliveryId,
          step: deed.step,
          ifOpen: deed.ifOpen,
        }));
      case 'revived':
        return this.#reviveAndLapse(deed);
      case 'list':
        await twins.ask('list', deed.query, { by: twins.instance(deed.by) });
        return;
      case 'listOne':
        return this.#askOf('list', deed, (deliveryId) => ({ state: 'open', limit: 9, deliveryId }));
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

  /** Of one event, by the id that it has in each store. */
  async #askOf<Name extends 'finish' | 'revive' | 'dismiss' | 'stateOf' | 'note' | 'list'>(
    name: Name,
    { which: index, by: whose }: { which: number; by: number },
    takeOf: (deliveryId: string) => StoreCalls[Name]['take'],
  ): Promise<void> {
    const { sqlite, postgres } = this.#one(index);
    const by = this.#twins.instance(whose);
    await this.#twins.ask(name, takeOf(sqlite), { of: takeOf(postgres), by });
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

const endpoint = one(...ENDPOINTS);
const station = one(...STATIONS);
/** Of the events that are known; of none where none is. Much happens to a few, or nothing would happen to one after the other. */
const which = fc.oneof(fc.nat(3), fc.nat(3), fc.nat(999));
/** Of the instances. */
const by = fc.nat(1);
const hour = fc.nat(4).map((each) => Date.UTC(2026, 0, 1, each));
const some = fc.array(which, { maxLength: 3 });

const acceptance = fc.record({
  station,
  id: fc.oneof(one(...IDS), fc.uuid(), fc.uuid()),
  named: fc.boolean(),
  fingerprint: one('f1', 'f1', 'f2'),
  endpoint,
  state: one('received', 'received', 'received', 'filtered', 'other', 'dead', 'stale'),
  rank: one(0, 1),
  alarm: one(...ALARMS, undefined),
  isEnd: fc.boolean(),
  received: hour,
  facts: one('{}', '{"text":"\u0000 \\u0000"}', '{"kind":"event"}', '{"places":["sites: A","cameras: a"]}'),
  bytes: fc.uint8Array({ maxLength: 8 }),
  lease: one('no', 'any', 'ordered'),
});
type NewAcceptance = typeof acceptance extends fc.Arbitrary<infer Value> ? Value : never;

const query = fc.record({
  state: one('open', 'settled', 'dead', 'filtered', 'all'),
  since: fc.option(hour, { nil: undefined }),
  alarm: fc.option(fc.record({ station, alarmId: one(...ALARMS) }), { nil: undefined }),
  sites: fc.option(one(['a'], ['b', ' A'], []), { nil: undefined }),
  cameras: fc.option(one(['a'], ['A']), { nil: undefined }),
  limit: one(1, 3, 100),
});

const step = fc.record(
  {
    time: fc.nat(1),
    step: one('verdict', 'extended'),
    by: one('Anna', 'a\u0000', '港'),
    note: one('\u0000', '\ud800', 'a "cat"'),
    verdict: one('real', 'false'),
  },
  { requiredKeys: ['time', 'step'] },
);

/** What may happen to an inbox. */
export const deed = fc.oneof(
  may(30, 'accept', { message: acceptance, by }),
  may(10, 'batch', { messages: fc.array(acceptance, { minLength: 2, maxLength: 8 }), by }),
  may(20, 'lease', { endpoint, limit: one(1, 2, 10, 37, 100), health: fc.nat(3), ordered: fc.boolean(), by }),
  may(6, 'giveBack', { unsent: some, cutOff: some, by }),
  may(14, 'lapse', {
    which,
    again: one('lease', 'retry'),
    maxAttempts: fc.integer({ min: 1, max: 3 }),
    isStranger: fc.boolean(),
  }),
  may(8, 'again', { which, isStranger: fc.boolean() }),
  may(8, 'markDelivered', { which: some, by }),
  may(14, 'finish', { which, state: one('delivered', 'dead'), give: fc.boolean(), by }),
  may(16, ['revive', 'dismiss', 'stateOf'], { which, by }),
  may(8, 'note', { which, step, ifOpen: fc.boolean(), by }),
  may(6, 'revived', { which, by }),
  may(8, 'list', { query, by }),
  may(4, 'listOne', { which, by }),
  may(6, 'quarantine', {
    endpoint,
    address: one('192.0.2.1', '192.0.2.2'),
    facts: one('{}', '{"reason":"\u0000"}'),
    bytes: fc.uint8Array({ maxLength: 4 }),
    by,
  }),
  may(4, ['release', 'releaseUpTo'], { which, endpoint, by }),
  may(8, ['claim', 'claim', 'leave'], { endpoint, node: one(...NODES), by }),
  may(3, 'leave', { node: one(...NODES), by }),
  may(4, 'assign', { from: endpoint, to: endpoint, by }),
  may(4, 'isKnown', { station, id: one(...IDS), by }),
  // Not less: a pass begins from the start again once a day, each instance's own.
  may(5, 'tidy', { days: fc.integer({ min: 2, max: 5 }), by }),
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
