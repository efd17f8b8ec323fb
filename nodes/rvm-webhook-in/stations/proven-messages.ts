import type { Inbox } from '../../../lib/inbox/inbox';
import type { DeadLetter, ProvenMessage } from '../../../lib/message/record';
import { isSelfTest, silentProblem, type Problem } from '../../../lib/webhook/problem';
import { loneStation } from '../../../lib/webhook/proof/receiving-station';
import { Silence } from '../../../lib/webhook/endpoint-health';
import type { ServedStations } from './served-stations';

const HOUR = 60 * 60 * 1000;

export interface ProvenMessagesOptions {
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
  readonly #silence: Silence | undefined;
  #isClockBehind: boolean | undefined;

  constructor(private readonly options: ProvenMessagesOptions) {
    const { inbox, endpointId, silentAfter } = options;
    this.#silence =
      endpointId === undefined
        ? undefined
        : new Silence({
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
    tell(silentProblem(loneStation(stations.all), new Date()), { hours: String(silentAfter) });
  }
}
