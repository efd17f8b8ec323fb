import { performance } from 'node:perf_hooks';
import { Registry } from 'prom-client';
import type { RvmErrorCode } from '../error';
import type { Meter, MeteredAnswer } from '../meter';
import { Instruments } from './instruments';
import type { InboxSnapshot, Snapshot } from './snapshot';
import { StationLabels } from './station-labels';

/** Answers that an alert asks for: it would miss the first of them where there was no zero before. */
const FROM_ZERO: readonly MeteredAnswer[] = ['accepted', 'unauthentic', 'cut'];

/** Counts what happens, and tells it as Prometheus reads it. */
export class Metrics implements Meter {
  /** One of our own: another package may use that of the library. */
  readonly #registry = new Registry();
  readonly #instruments = new Instruments(this.#registry);
  readonly #stations = new StationLabels();
  readonly #snapshot: () => Promise<Snapshot>;
  #telling: Promise<string> | undefined;

  /** @param snapshot what is so at the moment; rejects never */
  constructor(snapshot: () => Promise<Snapshot>) {
    this.#snapshot = snapshot;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Of whom the problems are told; from now on these stations, in this order, have labels of their own. */
  deployed(stations: readonly string[], problemKinds: readonly string[]): void {
    this.#stations.deployed(stations);
    for (const station of new Set(stations.map((key) => this.#stations.of(key))))
      for (const answer of FROM_ZERO) this.#instruments.messages.inc({ station, answer }, 0);
    for (const kind of problemKinds) this.#instruments.problems.inc({ kind }, 0);
  }

  /** All metrics as text. Several that ask at a time have one answer. */
  text(): Promise<string> {
    this.#telling ??= this.#tell().finally(() => {
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
    // A wall clock that was set back makes it negative.
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

  async #tell(): Promise<string> {
    const { stations, inboxes, raisedGroups, findings } = await this.#snapshot();
    this.#showStations(stations);
    this.#showInboxes(inboxes);
    this.#showGroups(raisedGroups);
    this.#showFindings(findings);
    this.#showProcess();
    return this.#registry.metrics();
  }

  /** Of those that share the label `other` one that is in trouble shows. */
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
