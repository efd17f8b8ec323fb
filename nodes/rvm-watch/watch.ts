import { randomUUID } from 'node:crypto';
import os from 'node:os';
import type { Node, NodeAPI } from 'node-red';
import type { Inbox } from '../../lib/inbox/model';
import { Debouncer, PulseOutput } from '../../lib/watch/debounce';
import { isFault, evaluate, type ActiveFinding } from '../../lib/watch/findings';
import { SharedFindings } from '../../lib/watch/shared-findings';
import { SILENCE_OWNER } from '../../lib/webhook/endpoint-health';
import { allStations } from '../rvm-central-station/station';
import { claimInbox, firstInbox, openInboxes } from '../rvm-inbox/inboxes';
import { faultOf } from '../support/admin-routes';
import { rememberRecording } from '../support/recent-video';
import { status } from '../support/status';
import { DecoderLook, gather, InboxReplies, ScheduledSelfTests } from './gather';
import { statusOf, verdictOn } from './verdict';

/** Milliseconds between two evaluations. */
const LOOK_EVERY = 1000;
/** Identifies this process in the shared findings: after a deploy it overwrites its own entry. */
const INSTANCE = randomUUID();
const MISSING = 'no-recording ';

interface WatchSettings {
  /** Keys of the watched Central Stations; empty = all. */
  stations: readonly string[];
  /** Milliseconds between two pulses, and between two self-tests; 0 = none. */
  interval: number;
  selfTest: number;
}

/** Watches all deployed nodes, from one start of the flows to their stop; what it finds leaves by its node. */
export class Watch {
  readonly #damping = new Debouncer(() => performance.now(), Date.now);
  readonly #inboxes = new InboxReplies();
  readonly #selfTests: ScheduledSelfTests;
  readonly #decoder: DecoderLook;
  readonly #pulse: PulseOutput;
  #inbox: Inbox | undefined;
  #findings: SharedFindings | undefined;
  /** Releases the default inbox, claimed where no other node uses an inbox. */
  #release: () => void = () => undefined;
  #instance = os.hostname();
  /** True once the name in the cluster is known, or the instance is the only one. */
  #isNamed = false;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #isRunning = false;
  #hasBegun = false;
  /** The status that the node shows, as JSON. */
  #shown = '';

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    private readonly settings: WatchSettings,
  ) {
    this.#selfTests = new ScheduledSelfTests(RED, settings.selfTest);
    this.#decoder = new DecoderLook(RED);
    this.#pulse = new PulseOutput(settings.interval, () =>
      node.send([null, { payload: true, instance: this.#instance }]),
    );
  }

  get standing(): readonly ActiveFinding[] {
    return this.#findings?.standing ?? [];
  }

  flowsStarted(): void {
    this.#shown = '';
    for (const key of this.#unknownStations())
      this.node.error(this.RED._('rvm-watch.errors.station', { key }));
    this.#isRunning = true;
    this.#useInbox();
    clearInterval(this.#timer);
    this.#timer = setInterval(() => void this.#lookOnce(), LOOK_EVERY);
    void this.#lookOnce();
  }

  flowsStopping(): void {
    this.#isRunning = false;
    clearInterval(this.#timer);
    this.#pulse.stop();
  }

  /** @param removed true where the node is deleted or disabled */
  async close(removed: boolean): Promise<void> {
    this.flowsStopping();
    const [inbox, findings] = [this.#inbox, this.#findings];
    if (removed && inbox !== undefined && findings !== undefined) {
      await findings.leave();
      if (!findings.hasOthers) await inbox.dropSlots(ownerOf(this.node.id));
    }
    this.#release();
  }

  /** Configured keys that no Central Station has: nothing would ever be found for them. */
  #unknownStations(): string[] {
    const known = new Set(allStations(this.RED).map(({ key }) => key));
    return this.settings.stations.filter((key) => !known.has(key));
  }

  /** Uses the shared inbox where there is one; a deploy may have brought another. */
  #useInbox(): void {
    if (openInboxes().length === 0) {
      const claim = claimInbox(this.RED);
      this.#release = () => claim.release();
    }
    const inbox = firstInbox();
    if (inbox === undefined || inbox === this.#inbox) return;
    const isShared = openInboxes().some((open) => open.inbox === inbox && open.place.folder === undefined);
    this.#inbox = inbox;
    this.#hasBegun = false;
    this.#findings = new SharedFindings({
      store: inbox,
      owner: ownerOf(this.node.id),
      isShared,
      instance: INSTANCE,
      monotonic: () => performance.now(),
    });
    this.#isNamed = !isShared;
    forgetDeleted(this.RED, inbox).catch(() => {
      // The store fails, which is a finding anyway; the next start tries again.
    });
  }

  /** Runs at each evaluation until the database knows the name, and before the first pulse, which contains it. */
  async #learnName(): Promise<void> {
    const instances = (await this.#inbox?.instances().catch(() => [])) ?? [];
    const self = instances.find(({ isSelf }) => isSelf);
    if (self === undefined) return;
    this.#instance = self.name;
    this.#isNamed = true;
  }

  async #lookOnce(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#look();
    } catch (error) {
      // An unexpected error: the pulse must stop, because a receiver relies on it.
      this.#pulse.stop();
      this.RED.log.error(this.RED._('rvm-watch.log.failed', { fault: faultOf(error) }));
    } finally {
      this.#isLooking = false;
    }
  }

  async #look(): Promise<void> {
    const { RED } = this;
    const findings = this.#findings;
    if (findings === undefined) return;
    if (!this.#hasBegun && (await findings.read())) this.#begin(findings.standing);
    this.#inboxes.askInTime();
    this.#selfTests.testInTime();
    this.#decoder.lookInTime();
    const sources = { inboxes: this.#inboxes, selfTests: this.#selfTests, decoder: this.#decoder };
    const look = evaluate(gather(RED, new Set(this.settings.stations), sources));
    const seen = this.#damping.damp(look, (id) => findings.isReported(id));
    const toTell = await findings.take(seen);
    // Even while stopping: the finding is already stored as reported, so no other instance would report it.
    if (toTell !== undefined) this.node.send([{ payload: verdictOn(RED, toTell) }, null]);
    if (!this.#isNamed) await this.#learnName();
    if (!this.#isRunning) return;
    this.#beat(findings);
    this.#show(findings.standing);
  }

  #beat(findings: SharedFindings): void {
    const areOpen = openInboxes().every(({ inbox }) => inbox.state().durable !== undefined);
    const isWell = findings.isKnown && areOpen && !findings.standing.some(isFault);
    if (isWell && this.#unknownStations().length === 0) this.#pulse.start();
    else this.#pulse.stop();
  }

  #show(standing: readonly ActiveFinding[]): void {
    const isUnknown = this.#unknownStations().length > 0;
    const next = isUnknown ? status(this.RED, 'wrongSetting') : statusOf(this.RED, standing);
    if (JSON.stringify(next) === this.#shown) return;
    this.#shown = JSON.stringify(next);
    this.node.status(next);
  }

  /** Checks the services of earlier findings at once, and restores missing recordings, which only the last run knew. */
  #begin(standing: readonly ActiveFinding[]): void {
    this.#hasBegun = true;
    const concerned = new Set(standing.map(({ station }) => station));
    for (const station of allStations(this.RED))
      if (concerned.has(station.key) && station.serviceState.kind === 'idle') station.askForLife();
    for (const { id, station, since, values } of standing)
      if (id.startsWith(MISSING) && station !== null)
        rememberRecording(id.slice(MISSING.length), { station, camera: String(values['camera']), since });
  }
}

const PREFIX = 'watch:';

/** Owner name of the findings that a *watch* stores. */
function ownerOf(nodeId: string): string {
  return PREFIX + nodeId;
}

/**
 * Removes findings of *watch* nodes that were deleted while Node-RED did not run. In a shared inbox, findings that another
 * instance renews stay.
 * @throws RvmError STORE_FAILED
 */
async function forgetDeleted(RED: NodeAPI, inbox: Inbox): Promise<void> {
  for (const owner of await inbox.slotOwners(PREFIX)) {
    if (owner === SILENCE_OWNER || RED.nodes.getNode(owner.slice(PREFIX.length))) continue;
    const { slots } = await inbox.slots(owner);
    const lives = slots.some(({ left }) => left !== undefined && left > 0);
    if (!lives) await inbox.dropSlots(owner);
  }
}
