import { listedCamera } from '../../lib/cloud/cameras/device-directory';
import type { ListedCamera } from '../../lib/device';
import { RvmError } from '../../lib/error';
import type { RvmEvent } from '../../lib/event';
import type { Inbox } from '../../lib/inbox/model';
import { seenIds } from '../../lib/inbox/searches';
import {
  type FilterIds,
  hasNoList,
  idsNamed,
  JUDGED,
  type JudgedIds,
  knownIds,
  type KnownIds,
  type Listed,
  listedOf,
  namedBy,
  NamedIds,
  NO_IDS,
  unknownIds,
  type UnknownIds,
} from '../../lib/message/event-filter';
import { readyStations } from '../../lib/webhook/proof/receiving-station';
import { isScheduledSelfTest, PendingSelfTests, selfTest } from '../../lib/webhook/self-test';
import type { SelfTestReport } from '../../lib/webhook/self-test-steps';
import type { Station } from '../rvm-central-station/station';
import { webhookAddress } from './settings';
import type { Wiring } from './wiring';

/** Milliseconds for connection and answer. */
const TIMEOUT = 10_000;

/** The self-tests of a *webhook in*: the messages that it posts to its own address. */
export class OwnSelfTest {
  readonly #pending = new PendingSelfTests();

  constructor(private readonly wiring: Wiring) {}

  /** @throws RvmError CONFIG_MISSING where the node or its station could not accept the message */
  async run(isScheduled: boolean): Promise<SelfTestReport> {
    const { stations, server, properties, address } = this.wiring;
    const [station] = readyStations(stations.receiving()).ready;
    const url = address && webhookAddress(server, properties, address.path);
    if (station === undefined || url === undefined) {
      throw new RvmError(
        'CONFIG_MISSING',
        'This webhook cannot take messages yet: the status of the node says why. Deploy it first.',
      );
    }
    const { scheme, secret: phrase, key } = station;
    return selfTest({
      url,
      scheme,
      phrase,
      pending: this.#pending,
      isElsewhere: (messageId) => this.#isElsewhere(key, messageId),
      timeoutMs: TIMEOUT,
      isScheduled,
    });
  }

  /**
   * @returns true where the outputs report the message; false for a scheduled self-test, which no user
   *   requested
   */
  came(messageId = ''): boolean {
    this.#pending.came(messageId);
    return !isScheduledSelfTest(messageId);
  }

  /**
   * In an inbox of one instance, a message that did not reach this node reached another node of the same Node-RED.
   * @throws RvmError STORE_FAILED
   */
  async #isElsewhere(station: string, messageId: string): Promise<boolean> {
    const { inbox } = this.wiring;
    const instances = await inbox.instances();
    return instances.length > 1 && inbox.isKnown(station, messageId);
  }
}

/** Milliseconds between checks: cameras are added and removed. */
const LOOK_EVERY = 5 * 60 * 1000;

type AskedStation = Pick<Station, 'key' | 'client'>;

interface FilterWatchOptions {
  wanted: FilterIds;
  /** All open inboxes: a message in any of them proves that its Central Station has sent it. */
  inboxes: () => readonly Inbox[];
  stations: () => readonly AskedStation[];
  /** Called when the set of unknown ids has changed. */
  changed: () => void;
}

/**
 * Checks, while the flows run, whether the ids in the filter of a *webhook in* exist: an id with a typing error would never
 * match an event. While the cameras cannot be listed, no id is called unknown; an id that an event has named once stays known.
 */
export class FilterWatch {
  #timer: NodeJS.Timeout | undefined;
  #unknown: UnknownIds = NO_IDS;
  /** Result of the last check. */
  #known: KnownIds = {};
  /** Ids of the filter that events have named. */
  readonly #named: NamedIds;

  constructor(private readonly options: FilterWatchOptions) {
    this.#named = new NamedIds(options.wanted);
  }

  get unknown(): UnknownIds {
    return this.#unknown;
  }

  /**
   * Ids of the filter that events of these stations have named; none where the filter covers other stations too.
   * @param stations keys
   */
  namedAt(stations: ReadonlySet<string>): JudgedIds {
    return this.options.stations().every(({ key }) => stations.has(key)) ? this.#named.ids : NO_IDS;
  }

  start(): void {
    const { wanted } = this.options;
    if (this.#timer !== undefined || JUDGED.every((name) => wanted[name].length === 0)) return;
    const look = (): void => void this.#look(timer);
    const timer = setInterval(look, LOOK_EVERY).unref();
    this.#timer = timer;
    look();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Marks the ids that an event names as known. */
  came(event: RvmEvent): void {
    if (this.#named.addOf(event)) this.#report();
  }

  async #look(timer: NodeJS.Timeout): Promise<void> {
    const known = await this.#knownNow();
    if (this.#timer !== timer) return;
    this.#known = known;
    this.#report();
  }

  #report(): void {
    const unknown = this.#unknownOf(this.#known);
    if (JSON.stringify(unknown) === JSON.stringify(this.#unknown)) return;
    this.#unknown = unknown;
    this.options.changed();
  }

  async #knownNow(): Promise<KnownIds> {
    const stations = this.options.stations();
    const listed = await this.#listed(stations);
    // The inboxes are queried only where the list of cameras leaves an id unknown.
    const byList = knownIds(listed, { ids: NO_IDS, kinds: JUDGED });
    const unlisted = this.#unknownOf(byList);
    if (JUDGED.every((name) => unlisted[name].length === 0)) return byList;
    const seen = await seenIds(this.options.inboxes(), new Set(stations.map(({ key }) => key)));
    this.#named.add(idsNamed(seen));
    return knownIds(listed, namedBy(seen));
  }

  #unknownOf(known: KnownIds): UnknownIds {
    return unknownIds(this.options.wanted, known, this.#named.ids);
  }

  /** Undefined where there is no station, or one of them cannot be called at present. */
  async #listed(stations: readonly AskedStation[]): Promise<Listed | undefined> {
    const { wanted } = this.options;
    if (stations.length === 0 || (wanted.sites.length === 0 && wanted.cameras.length === 0)) return undefined;
    try {
      return listedOf(await Promise.all(stations.map(listOf)));
    } catch {
      return undefined;
    }
  }
}

/**
 * Undefined where the station has no list of cameras.
 * @throws RvmError
 */
async function listOf(station: AskedStation): Promise<ListedCamera[] | undefined> {
  try {
    const devices = await (await station.client()).listDevices({ once: true });
    return devices.map(listedCamera);
  } catch (error) {
    if (error instanceof RvmError && hasNoList(error.code)) return undefined;
    throw error;
  }
}
