import { KEY } from '../text';

/** Stations that have a label of their own: each costs some seventy series. */
const MOST = 50;

/** Of all stations that have none of their own, and of those that nobody knows. */
export const OTHER = 'other';

/** Which label a station has: never a text that a message has brought along, and never more than so many. */
export class StationLabels {
  /** Once given, a label stays: a series that changes its meaning is worse than one that ends. */
  readonly #own = new Set<string>();

  constructor(private readonly most = MOST) {}

  /** These are deployed, in this order. What is no key has been typed into a flow file by hand. */
  deployed(keys: readonly string[]): void {
    for (const key of keys) if (this.#own.size < this.most && KEY.test(key)) this.#own.add(key);
  }

  of(key: string | undefined): string {
    return key !== undefined && this.#own.has(key) ? key : OTHER;
  }
}
