import { randomUUID } from 'node:crypto';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { PostgresStore, type PostgresStoreOptions } from '../../../lib/inbox/postgres/postgres-store';
import type { SharedStoreNews } from '../../../lib/inbox/store/port';
import type { Opened, StoreWarning } from '../../../lib/inbox/store/protocol';
import { eventually } from '../time/patience';

/** What a store has told, in order. */
export interface Told {
  opened: Opened[];
  faults: string[];
  warnings: StoreWarning[];
  stirred: (string | undefined)[];
  waiting: Record<string, number>[];
  slots: string[];
  wishes: [deliveryId: string, wish: string][];
  epochsLost: number;
  mayHandOver: number;
}

export interface OpenStore {
  store: PostgresStore;
  told: Told;
}

/** A schema of its own, for each test. */
export function newSchema(): string {
  return `rvm ${randomUUID().slice(0, 8)}`;
}

/** One of the stores that share a schema, and what it tells. */
export function sharedStore(
  url: string,
  schema: string,
  {
    instanceName = 'one',
    ...options
  }: Partial<Omit<PostgresStoreOptions, 'settings'>> & { instanceName?: string } = {},
): OpenStore {
  const told: Told = {
    opened: [],
    faults: [],
    warnings: [],
    stirred: [],
    waiting: [],
    slots: [],
    wishes: [],
    epochsLost: 0,
    mayHandOver: 0,
  };
  const news: SharedStoreNews = {
    onOpened: (opened) => told.opened.push(opened),
    onFault: (reason) => told.faults.push(reason),
    onWarning: (warning) => told.warnings.push(warning),
    onSlow: () => undefined,
    onEpochLost: () => (told.epochsLost += 1),
    onMayHandOver: () => (told.mayHandOver += 1),
    onStirred: (endpoint) => told.stirred.push(endpoint),
    onWaiting: (waiting) => told.waiting.push(waiting),
    onSlots: (owner) => told.slots.push(owner),
    onWish: (deliveryId, wish) => told.wishes.push([deliveryId, wish]),
  };
  const settings = readConnection(url, { schema, tls: 'off', instanceName });
  return { store: new PostgresStore({ settings, ...options }, news), told };
}

/** The same, once it is open. */
export async function openStore(...args: Parameters<typeof sharedStore>): Promise<OpenStore> {
  const open = sharedStore(...args);
  await eventually(() => open.told.opened.length > 0, `the store to open (${open.told.faults.at(-1)})`);
  return open;
}
