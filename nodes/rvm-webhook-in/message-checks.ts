import { listedCamera } from '../../lib/cloud/cameras/device-directory';
import type { ListedCamera } from '../../lib/device';
import { RvmError } from '../../lib/error';
import type { RvmEvent } from '../../lib/event';
import type { Inbox } from '../../lib/inbox/inbox';
import { seenIds } from '../../lib/inbox/reading/seen-ids';
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
import type { DeadLetter, ProvenMessage } from '../../lib/message/record';
import { SilenceWatchdog } from '../../lib/webhook/endpoint-health';
import { isSelfTest, type Problem, silentProblem } from '../../lib/webhook/problem';
import { onlyStation, readyStations, type ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { isScheduledSelfTest, PendingSelfTests, selfTest } from '../../lib/webhook/self-test';
import type { SelfTestReport } from '../../lib/webhook/self-test-steps';
import type { Station } from '../rvm-central-station/station';
import type { ServedStations } from './served-stations';

const HOUR = 60 * 60 * 1000;

interface ProvenMessagesOptions {
  inbox: Inbox;
  /** Undefined without an endpoint. */
  endpointId: string | undefined;
  /** Hours without any that are too many; 0 = none are. */
  silentAfter: number;
  stations: Pick<ServedStations, 'all'>;
  /** Told once each time that there were none for so long, with what the text of that names. */
  tell: (problem: Problem, values: Record<string, string>) => void;
}

/** What the proven messages of a *webhook in* tell besides what is in them: that they come, and whose clock is wrong. */
export class ProvenMessages {
  readonly #silence: SilenceWatchdog | undefined;
  #isClockBehind: boolean | undefined;

  constructor(private readonly options: ProvenMessagesOptions) {
    const { inbox, endpointId, silentAfter } = options;
    this.#silence =
      endpointId === undefined
        ? undefined
        : new SilenceWatchdog({
            place: inbox,
            endpointId,
            limit: silentAfter * HOUR,
            onSilent: () => this.#tellSilence(),
            steady: () => performance.now(),
            now: Date.now,
          });
  }

  /** True where the last one came from the future; undefined until one has come. */
  get isClockBehind(): boolean | undefined {
    return this.#isClockBehind;
  }

  /** When the last one came, where that is too long ago. */
  get silentSince(): Date | 'unknown' | undefined {
    return this.#silence?.since;
  }

  /** Hours without any that are too many. */
  get silentAfter(): number {
    return this.options.silentAfter;
  }

  start(): void {
    this.#silence?.start();
  }

  stop(): void {
    this.#silence?.stop();
  }

  /** The endpoint is gone for good. */
  forget(): void {
    void this.#silence?.forget();
  }

  /** One that this package has sent itself says nothing of the service. */
  accepted(record: ProvenMessage | DeadLetter): void {
    if (isSelfTest(record)) return;
    this.#silence?.proven();
    if ('warnings' in record && !record.sandbox) this.#isClockBehind = record.warnings.includes('clock-skew');
  }

  #tellSilence(): void {
    const { stations, silentAfter, tell } = this.options;
    tell(silentProblem(onlyStation(stations.all), new Date()), { hours: String(silentAfter) });
  }
}

/** For connection and answer, in milliseconds. */
const TIMEOUT = 10_000;

interface OwnSelfTestOptions {
  inbox: Inbox;
  stations: () => readonly ReceivingStation[];
  /** The address that is registered with the service; undefined where there is none yet. */
  url: () => string | undefined;
}

/** The self-tests of one *webhook in*. */
export class OwnSelfTest {
  readonly #pending = new PendingSelfTests();

  constructor(private readonly options: OwnSelfTestOptions) {}

  /** @throws RvmError CONFIG_MISSING where the node, or its station, could not take it */
  async run(isScheduled: boolean): Promise<SelfTestReport> {
    const [station] = readyStations(this.options.stations()).ready;
    const url = this.options.url();
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

  /** @returns false where no output is to tell of the message: nobody has asked for that test */
  came(messageId = ''): boolean {
    this.#pending.came(messageId);
    return !isScheduledSelfTest(messageId);
  }

  /** In an inbox of this Node-RED alone, what did not come to this node came to another one of it. @throws RvmError STORE_FAILED */
  async #isElsewhere(station: string, messageId: string): Promise<boolean> {
    const { inbox } = this.options;
    const instances = await inbox.instances();
    return instances.length > 1 && inbox.isKnown(station, messageId);
  }
}

/** Cameras come and go. Milliseconds. */
const LOOK_EVERY = 5 * 60 * 1000;

type AskedStation = Pick<Station, 'key' | 'client'>;

interface FilterWatchOptions {
  wanted: FilterIds;
  /** All there are: what another one has of a Central Station, that has sent. */
  inboxes: () => readonly Inbox[];
  stations: () => readonly AskedStation[];
  /** Told when others are unknown. */
  changed: () => void;
}

/**
 * Looks, while the flows run, whether what a *webhook in* is to take is there at all: of an id with a slip in it no event would ever
 * come. Where the cameras cannot be asked for just now, none is called unknown; and nothing is any more that an event has named once.
 */
export class FilterWatch {
  #timer: NodeJS.Timeout | undefined;
  #unknown: UnknownIds = NO_IDS;
  /** As it was looked up last. */
  #known: KnownIds = {};
  /** Of what is to be taken. */
  readonly #named: NamedIds;

  constructor(private readonly options: FilterWatchOptions) {
    this.#named = new NamedIds(options.wanted);
  }

  get unknown(): UnknownIds {
    return this.#unknown;
  }

  /** What of it events of these stations have named, if it is about no others. @param stations keys */
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

  /** An event has come: what it names is known from now on. */
  came(event: RvmEvent): void {
    if (this.#named.addOf(event)) this.#tell();
  }

  async #look(timer: NodeJS.Timeout): Promise<void> {
    const known = await this.#knownNow();
    if (this.#timer !== timer) return;
    this.#known = known;
    this.#tell();
  }

  #tell(): void {
    const unknown = this.#unknownOf(this.#known);
    if (JSON.stringify(unknown) === JSON.stringify(this.#unknown)) return;
    this.#unknown = unknown;
    this.options.changed();
  }

  async #knownNow(): Promise<KnownIds> {
    const stations = this.options.stations();
    const listed = await this.#listed(stations);
    // The inboxes are asked only where something is known in no other way.
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

  /** Undefined where there is no station, or one of them cannot be asked just now. */
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

/** Undefined where it has none. @throws RvmError */
async function listOf(station: AskedStation): Promise<ListedCamera[] | undefined> {
  try {
    const devices = await (await station.client()).listDevices({ once: true });
    return devices.map(listedCamera);
  } catch (error) {
    if (error instanceof RvmError && hasNoList(error.code)) return undefined;
    throw error;
  }
}
