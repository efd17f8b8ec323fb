import { randomUUID } from 'node:crypto';
import os from 'node:os';
import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import type { Inbox } from '../../lib/inbox/model';
import { Debouncer, PulseOutput } from '../../lib/watch/debounce';
import { isFault, evaluate, type ActiveFinding, type WebhookFacts } from '../../lib/watch/findings';
import { SharedFindings } from '../../lib/watch/shared-findings';
import { SILENCE_OWNER } from '../../lib/webhook/endpoint-health';
import { allStations } from '../rvm-central-station/station';
import { claimInbox, firstInbox, openInboxes } from '../rvm-inbox/inboxes';
import { webhookIds } from '../rvm-webhook-in/problem-registry';
import { findWebhook } from '../rvm-webhook-in/webhook-node';
import { faultOf } from '../support/admin-routes';
import { rememberRecording } from '../support/recent-video';
import { InboxReplies, DecoderLook, gather } from './gather';

/** Milliseconds between two evaluations. */
const LOOK_EVERY = 1000;
/** Identifies this process in the shared findings: after a deploy it overwrites its own entry. */
const INSTANCE = randomUUID();
const MISSING = 'no-recording ';

interface WatchOptions {
  RED: NodeAPI;
  nodeId: string;
  /** Keys of the watched Central Stations; empty = all. */
  stations: readonly string[];
  /** Milliseconds between two pulses, and between two self-tests; 0 = none. */
  interval: number;
  selfTest: number;
  /** Called when a finding has begun or ended. */
  onChange: (standing: readonly ActiveFinding[]) => void;
  /**
   * Called for each pulse: no fault is active.
   * @param instance name of this instance
   */
  onPulse: (instance: string) => void;
  /** Called after each evaluation. */
  onLook: (standing: readonly ActiveFinding[]) => void;
}

/** Watches all deployed nodes, from one start of the flows to their stop. */
export class Watch {
  readonly #options: WatchOptions;
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

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#selfTests = new ScheduledSelfTests(options.RED, options.selfTest);
    this.#decoder = new DecoderLook(options.RED);
    this.#pulse = new PulseOutput(options.interval, () => options.onPulse(this.#instance));
  }

  /** Configured keys that no Central Station has: nothing would ever be found for them. */
  get unknownStations(): string[] {
    const known = new Set(allStations(this.#options.RED).map(({ key }) => key));
    return this.#options.stations.filter((key) => !known.has(key));
  }

  get standing(): readonly ActiveFinding[] {
    return this.#findings?.standing ?? [];
  }

  flowsStarted(): void {
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
      if (!findings.hasOthers) await inbox.dropSlots(ownerOf(this.#options.nodeId));
    }
    this.#release();
  }

  /** Uses the shared inbox where there is one; a deploy may have brought another. */
  #useInbox(): void {
    if (openInboxes().length === 0) {
      const claim = claimInbox(this.#options.RED);
      this.#release = () => claim.release();
    }
    const inbox = firstInbox();
    if (inbox === undefined || inbox === this.#inbox) return;
    const isShared = openInboxes().some((open) => open.inbox === inbox && open.place.folder === undefined);
    this.#inbox = inbox;
    this.#hasBegun = false;
    this.#findings = new SharedFindings({
      store: inbox,
      owner: ownerOf(this.#options.nodeId),
      isShared,
      instance: INSTANCE,
      monotonic: () => performance.now(),
    });
    this.#isNamed = !isShared;
    forgetDeleted(this.#options.RED, inbox).catch(() => {
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
      this.#options.RED.log.error(this.#options.RED._('rvm-watch.log.failed', { fault: faultOf(error) }));
    } finally {
      this.#isLooking = false;
    }
  }

  async #look(): Promise<void> {
    const { RED, onChange, onLook } = this.#options;
    const findings = this.#findings;
    if (findings === undefined) return;
    if (!this.#hasBegun && (await findings.read())) this.#begin(findings.standing);
    this.#askWhatIsDue();
    const look = evaluate(gather(RED, new Set(this.#options.stations), this.#queried()));
    const seen = this.#damping.damp(look, (id) => findings.isReported(id));
    const toTell = await findings.take(seen);
    // Even while stopping: the finding is already stored as reported, so no other instance would report it.
    if (toTell !== undefined) onChange(toTell);
    if (!this.#isNamed) await this.#learnName();
    if (!this.#isRunning) return;
    this.#beat(findings);
    onLook(findings.standing);
  }

  #beat(findings: SharedFindings): void {
    const areOpen = openInboxes().every(({ inbox }) => inbox.state().durable !== undefined);
    const isWell = findings.isKnown && areOpen && !findings.standing.some(isFault);
    if (isWell && this.unknownStations.length === 0) this.#pulse.start();
    else this.#pulse.stop();
  }

  /** Checks the services of earlier findings at once, and restores missing recordings, which only the last run knew. */
  #begin(standing: readonly ActiveFinding[]): void {
    this.#hasBegun = true;
    const concerned = new Set(standing.map(({ station }) => station));
    for (const station of allStations(this.#options.RED))
      if (concerned.has(station.key) && station.serviceState.kind === 'idle') station.askForLife();
    for (const { id, station, since, values } of standing)
      if (id.startsWith(MISSING) && station !== null)
        rememberRecording(id.slice(MISSING.length), { station, camera: String(values['camera']), since });
  }

  #askWhatIsDue(): void {
    this.#inboxes.askInTime();
    this.#selfTests.testInTime();
    this.#decoder.lookInTime();
  }

  #queried(): Parameters<typeof gather>[2] {
    return {
      figuresOf: (open) => this.#inboxes.figuresOf(open),
      standbyOf: (open) => this.#inboxes.standbyOf(open),
      selfTestOf: (id) => this.#selfTests.resultOf(id),
      hasDecoder: () => this.#decoder.isThere,
    };
  }
}

/** Full namespace: the texts belong to *webhook in*. */
const FAULT = '@rvm/node-red-remote-monitoring/rvm-webhook-in:rvm-webhook-in.test.fault';
/**
 * Milliseconds. After a start other work comes first. A failed test is repeated before it is reported, and then until it
 * succeeds.
 */
const FIRST = 5000;
const AGAIN = 20_000;
const LONGEST_WAIT = 60_000;
/** Failures in a row before a report: a single one may be transient. */
const FAILURES = 2;

interface Tested {
  /** Value of `performance.now()`. */
  nextAt: number;
  failures: number;
  result: Exclude<WebhookFacts['selfTest'], undefined>;
}

/** Periodic self-tests of all *webhook in* nodes, one after the other. */
class ScheduledSelfTests {
  readonly #tested = new Map<string, Tested>();
  #isTesting = false;

  /** @param every interval in milliseconds; 0 = never */
  constructor(
    private readonly RED: NodeAPI,
    private readonly every: number,
  ) {}

  resultOf(webhookId: string): WebhookFacts['selfTest'] {
    return this.every === 0 ? undefined : (this.#tested.get(webhookId)?.result ?? 'unknown');
  }

  /** Runs the tests that are due. */
  testInTime(): void {
    if (this.every === 0 || this.#isTesting) return;
    this.#isTesting = true;
    void this.#testAll().finally(() => (this.#isTesting = false));
  }

  async #testAll(): Promise<void> {
    const ids = webhookIds();
    for (const id of this.#tested.keys()) if (!ids.includes(id)) this.#tested.delete(id);
    for (const id of ids) {
      const tested = this.#tested.get(id) ?? this.#begun(id);
      if (performance.now() >= tested.nextAt) await this.#test(id, tested);
    }
  }

  #begun(id: string): Tested {
    const tested: Tested = { nextAt: performance.now() + FIRST, failures: 0, result: 'unknown' };
    this.#tested.set(id, tested);
    return tested;
  }

  async #test(id: string, tested: Tested): Promise<void> {
    const reason = await this.#failureOf(id);
    tested.failures = reason === undefined ? 0 : tested.failures + 1;
    if (reason === undefined) tested.result = 'well';
    else if (tested.failures >= FAILURES) tested.result = { reason };
    const pause = [this.every, AGAIN, LONGEST_WAIT][Math.min(tested.failures, FAILURES)] ?? LONGEST_WAIT;
    tested.nextAt = performance.now() + Math.min(this.every, pause);
  }

  /** Undefined where the message has arrived. */
  async #failureOf(id: string): Promise<string | undefined> {
    try {
      const failed = (await findWebhook(this.RED, id)?.selfTest(true))?.failed;
      return failed && this.RED._(`${FAULT}.${failed.fault}`, { seen: failed.seen });
    } catch (error) {
      return error instanceof RvmError ? error.message : faultOf(error);
    }
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
