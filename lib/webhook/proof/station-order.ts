import { seemingTexts } from '../../message/unproven-fields';
import { LARGE_BODY } from './proof-work';
import type { ReceivingStation } from './receiving-station';

/** Agent Users that are remembered; beyond it the oldest is forgotten, so that memory stays bounded. */
const MAX_LEARNED = 1000;
/** Longer ones are not remembered, in characters: the service's have 36. */
const MAX_LENGTH = 256;

/**
 * Which station a message is tried with first: the one whose Agent User it names, by the setting of the station, else by what
 * its phrase has proved before. A stranger may name any: the name changes how long a genuine message takes, never what is
 * genuine.
 */
export class StationOrder {
  /** Keys of stations by Agent User. */
  readonly #learned = new Map<string, string>();

  /** All stations, the named one first. */
  of(body: Uint8Array, stations: readonly ReceivingStation[]): readonly ReceivingStation[] {
    const first = stations.length > 1 ? this.#namedIn(body, stations) : undefined;
    return first === undefined ? stations : [first, ...stations.filter((station) => station !== first)];
  }

  /** Remembers which station has proved a message of this Agent User. */
  learn(agentUserId: unknown, stationKey: string): void {
    if (typeof agentUserId !== 'string' || agentUserId.length > MAX_LENGTH) return;
    const id = agentUserId.toLowerCase();
    if (this.#learned.get(id) === stationKey) return;
    this.#learned.delete(id);
    this.#learned.set(id, stationKey);
    if (this.#learned.size > MAX_LEARNED) this.#forgetOldest();
  }

  #namedIn(body: Uint8Array, stations: readonly ReceivingStation[]): ReceivingStation | undefined {
    // Of a long body its beginning will do: without a name the thread takes longer, and nothing else.
    const [named] = seemingTexts(body.subarray(0, LARGE_BODY), 'agentUserId', 1);
    if (named === undefined || named === '') return undefined;
    const id = named.toLowerCase();
    const configured = stations.find(
      ({ agentUserId }) => agentUserId.length === id.length && agentUserId.toLowerCase() === id,
    );
    if (configured !== undefined) return configured;
    const learned = this.#learned.get(id);
    return learned === undefined ? undefined : stations.find(({ key }) => key === learned);
  }

  #forgetOldest(): void {
    for (const oldest of this.#learned.keys()) {
      this.#learned.delete(oldest);
      return;
    }
  }
}
