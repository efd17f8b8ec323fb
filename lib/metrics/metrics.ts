import { performance } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { RvmErrorCode } from '../error';
import type { Meter, MeteredAnswer } from '../meter';
import { KEY } from '../text';

/** Answers that alerts query: without an initial zero an alert would miss the first one. */
const FROM_ZERO: readonly MeteredAnswer[] = ['accepted', 'unauthentic', 'cut'];

/** Counts events of the package and serves them in the Prometheus format. */
export class Metrics implements Meter {
  /** A registry of our own: another package may use the default one. */
  readonly #registry = new Registry();
  readonly #instruments = instrumentsIn(this.#registry);
  readonly #stations = new StationLabels();
  readonly #snapshot: () => Promise<Snapshot>;
  #telling: Promise<string> | undefined;

  /** @param snapshot the current state; never rejects */
  constructor(snapshot: () => Promise<Snapshot>) {
    this.#snapshot = snapshot;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Gives these stations labels of their own, in this order. Starts their answers and the problem kinds at 0. */
  deployed(stations: readonly string[], problemKinds: readonly string[]): void {
    this.#stations.deployed(stations);
    for (const station of new Set(stations.map((key) => this.#stations.of(key))))
      for (const answer of FROM_ZERO) this.#instruments.messages.inc({ station, answer }, 0);
    for (const kind of problemKinds) this.#instruments.problems.inc({ kind }, 0);
  }

  /** All metrics as text. Concurrent requests share one answer. */
  text(): Promise<string> {
    this.#telling ??= this.#render().finally(() => {
      this.#telling = undefined;
    });
    return this.#telling;
  }

  answered(answer: MeteredAnswer, key?: string, seconds?: number): void {
    const station = this.#stations.of(key);
    this.#instruments.messages.inc({ station, answer });
    if (seconds !== undefined) this.#instruments.acceptance.observe({ station }, seconds);
  }

  delivered(key: string, again: string | undefined, seconds: number): void {
    const station = this.#stations.of(key);
    this.#instruments.deliveries.inc({ station, again: again ?? 'first' });
    // The time is negative where the wall clock was set back.
    if (again === undefined) this.#instruments.delivery.observe({ station }, Math.max(0, seconds));
  }

  problem(kind: string, count: number): void {
    this.#instruments.problems.inc({ kind }, count);
  }

  requested(key: string, status: number | undefined, seconds: number): void {
    const station = this.#stations.of(key);
    this.#instruments.requests.inc({ station, status: status === undefined ? 'none' : `${status}` });
    if (status !== undefined) this.#instruments.requestTime.observe({ station }, seconds);
  }

  failed(key: string, code: RvmErrorCode): void {
    this.#instruments.errors.inc({ station: this.#stations.of(key), code });
  }

  videoBegan(): void {
    this.#instruments.videoJobsRunning.inc();
  }

  videoEnded(code: RvmErrorCode | 'other' | undefined): void {
    this.#instruments.videoJobsRunning.dec();
    this.#instruments.videoJobs.inc({ outcome: code ?? 'done' });
  }

  firstFrame(seconds: number): void {
    this.#instruments.firstFrame.observe(seconds);
  }

  committed(engine: InboxSnapshot['engine'], seconds: number): void {
    this.#instruments.commits.observe({ engine }, seconds);
  }

  spilled(): void {
    this.#instruments.spilled.inc();
  }

  async #render(): Promise<string> {
    const { stations, inboxes, raisedGroups, findings } = await this.#snapshot();
    this.#showStations(stations);
    this.#showInboxes(inboxes);
    this.#showGroups(raisedGroups);
    this.#showFindings(findings);
    this.#showProcess();
    return this.#registry.metrics();
  }

  /** Of the stations that share the label `other`, one in trouble decides the value. */
  #showStations(stations: Snapshot['stations']): void {
    const { connected, circuitOpen } = this.#instruments;
    connected.reset();
    circuitOpen.reset();
    const all = Map.groupBy(stations, ({ key }) => this.#stations.of(key));
    for (const [station, ofLabel] of all) {
      circuitOpen.set({ station }, ofLabel.some(({ isCircuitOpen }) => isCircuitOpen) ? 1 : 0);
      const asked = ofLabel.filter(({ isConnected }) => isConnected !== undefined);
      if (asked.length > 0)
        connected.set({ station }, asked.every(({ isConnected }) => isConnected === true) ? 1 : 0);
    }
  }

  #showInboxes(inboxes: readonly InboxSnapshot[]): void {
    const { durable, waiting, oldestWaiting, deadLetters, spillMessages } = this.#instruments;
    for (const gauge of [durable, waiting, oldestWaiting, deadLetters]) gauge.reset();
    spillMessages.set(sumOf(inboxes.map(({ spilled }) => spilled)));
    for (const [engine, all] of Map.groupBy(inboxes, (inbox) => inbox.engine)) {
      durable.set({ engine }, all.every(({ isDurable }) => isDurable) ? 1 : 0);
      waiting.set({ engine }, sumOf(all.map((inbox) => inbox.waiting)));
      const ages = all.flatMap((inbox) => inbox.oldestWaiting ?? []);
      if (ages.length > 0) oldestWaiting.set({ engine }, Math.max(...ages));
      for (const { dead = {} } of all) this.#showDead(engine, dead);
    }
  }

  #showDead(engine: InboxSnapshot['engine'], dead: NonNullable<InboxSnapshot['dead']>): void {
    for (const [key, count] of Object.entries(dead))
      this.#instruments.deadLetters.inc({ engine, station: this.#stations.of(key) }, count);
  }

  #showGroups(raised: Snapshot['raisedGroups']): void {
    if (raised === undefined) this.#instruments.raisedGroups.remove();
    else this.#instruments.raisedGroups.set(raised);
  }

  #showFindings(findings: Snapshot['findings']): void {
    const gauge = this.#instruments.findings;
    gauge.reset();
    for (const { what, severity, count } of findings) gauge.set({ what, severity }, count);
  }

  #showProcess(): void {
    const { cpu, loop, memory, started } = this.#instruments;
    const { user, system } = process.cpuUsage();
    cpu.reset();
    cpu.inc((user + system) / 1e6);
    loop.reset();
    loop.inc(performance.eventLoopUtilization().active / 1000);
    memory.set(process.memoryUsage.rss());
    started.set(performance.timeOrigin / 1000);
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** Seconds, for waits on a disk or a nearby machine: from a millisecond to the timeout of the service. */
const SHORT = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Seconds until an event reaches the flow: at once, or after a night without a consumer. */
const LONG = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600, 3600, 86_400];
/** Seconds until the first picture of a video: the recording may not exist yet. */
const PICTURE = [0.25, 0.5, 1, 2, 3, 5, 8, 13, 30, 60, 120];

/**
 * All metrics of the package, described in docs/metrics.md, which a test compares with them. Base units; labels have few known
 * values, except keys of stations.
 * @param registry registers the metrics; used by no other caller
 */
function instrumentsIn(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = <Label extends string = never>(
    name: string,
    buckets: number[],
    help: string,
    ...labelNames: Label[]
  ) => new Histogram({ name, help, buckets, labelNames, registers });

  return {
    messages: counter(
      'rvm_webhook_messages_total',
      'Requests on webhook paths by what became of them.',
      'station',
      'answer',
    ),
    acceptance: histogram(
      'rvm_webhook_acceptance_seconds',
      SHORT,
      'From the last byte of a proven message until its answer, behind the commit.',
      'station',
    ),
    deliveries: counter(
      'rvm_deliveries_total',
      'Events handed to the flow, by why they came again.',
      'station',
      'again',
    ),
    delivery: histogram(
      'rvm_delivery_seconds',
      LONG,
      'From the receipt of an event until the flow first had it.',
      'station',
    ),
    problems: counter('rvm_problems_total', 'Problems of webhooks by kind.', 'kind'),
    requests: counter(
      'rvm_service_requests_total',
      'Requests to the service by the HTTP status of the answer.',
      'station',
      'status',
    ),
    requestTime: histogram(
      'rvm_service_request_seconds',
      SHORT,
      'Until the whole answer of the service was there.',
      'station',
    ),
    errors: counter(
      'rvm_service_errors_total',
      'What was wanted of the service and has failed for good, by code.',
      'station',
      'code',
    ),
    connected: gauge('rvm_service_connected', '1 while the session with the service is good.', 'station'),
    circuitOpen: gauge(
      'rvm_service_circuit_open',
      '1 while nothing but probes is sent to the service.',
      'station',
    ),
    videoJobs: counter('rvm_video_jobs_total', 'Pictures, clips and views by outcome.', 'outcome'),
    videoJobsRunning: gauge('rvm_video_jobs_running', 'Pictures, clips and views under way.'),
    firstFrame: histogram(
      'rvm_video_first_frame_seconds',
      PICTURE,
      'From the begin of a video job until its first picture.',
    ),
    commits: histogram(
      'rvm_store_commit_seconds',
      SHORT,
      'Transactions of the inbox, until they were durable.',
      'engine',
    ),
    durable: gauge('rvm_inbox_durable', '1 while every inbox can store.', 'engine'),
    waiting: gauge('rvm_inbox_waiting_events', 'Events that wait for their first delivery.', 'engine'),
    oldestWaiting: gauge(
      'rvm_inbox_oldest_waiting_seconds',
      'How long the oldest event waits for its first delivery; 0 where none does.',
      'engine',
    ),
    deadLetters: gauge(
      'rvm_inbox_dead_letters',
      'Dead letters that nobody has dealt with.',
      'engine',
      'station',
    ),
    spillMessages: gauge('rvm_spill_messages', 'Messages kept beside an inbox that cannot take them.'),
    raisedGroups: gauge('rvm_alarm_groups_raised', 'Groups of alarm state nodes that are raised.'),
    findings: gauge('rvm_watch_findings', 'What watch nodes have found.', 'what', 'severity'),
    spilled: counter('rvm_spilled_messages_total', 'Messages kept beside an inbox that could not take them.'),
    cpu: counter('process_cpu_seconds_total', 'CPU time of Node-RED, all threads.'),
    loop: counter('rvm_event_loop_active_seconds_total', 'Time in which the event loop had work.'),
    memory: gauge('process_resident_memory_bytes', 'Resident memory of Node-RED.'),
    started: gauge('process_start_time_seconds', 'When Node-RED began, in seconds since 1970.'),
  };
}

/** The current state of one Central Station. */
export interface StationSnapshot {
  key: string;
  /** Undefined until the first request. */
  isConnected: boolean | undefined;
  /** True while only probes are sent. */
  isCircuitOpen: boolean;
}

/** The current state of one inbox. A figure that it could not return in time is absent. */
export interface InboxSnapshot {
  engine: 'sqlite' | 'postgres';
  isDurable: boolean;
  /** Events that wait for their first delivery. */
  waiting: number;
  /** Messages in the spill folder. */
  spilled: number;
  /** Seconds since the receipt of the oldest waiting event; 0 without one. */
  oldestWaiting?: number;
  /** Dead letters by key of the station that no person has dealt with. */
  dead?: Readonly<Record<string, number>>;
}

/** Findings of one kind, over all *watch* nodes. */
interface FindingsSnapshot {
  what: string;
  severity: 'fault' | 'warning';
  count: number;
}

/** The state at the time of a scrape, for values that are not counted. */
export interface Snapshot {
  stations: readonly StationSnapshot[];
  inboxes: readonly InboxSnapshot[];
  /** Groups of *alarm state* nodes that are raised; absent where there is no such node. */
  raisedGroups?: number;
  /** All kinds, also those without a finding; empty where there is no *watch*. */
  findings: readonly FindingsSnapshot[];
}

/** Stations with a label of their own: each costs about seventy series. */
const MOST = 50;

/** Label of all stations without their own, and of unknown stations. */
export const OTHER = 'other';

/** Chooses the label of a station: never a text from a message, and a bounded number. */
class StationLabels {
  /** A label is never withdrawn: a series that changes its meaning is worse than one that ends. */
  readonly #own = new Set<string>();

  constructor(private readonly most = MOST) {}

  /** Registers deployed stations in order. A text that is no key was typed into a flow file by hand. */
  deployed(keys: readonly string[]): void {
    for (const key of keys) if (this.#own.size < this.most && KEY.test(key)) this.#own.add(key);
  }

  of(key: string | undefined): string {
    return key !== undefined && this.#own.has(key) ? key : OTHER;
  }
}
