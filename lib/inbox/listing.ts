import { eachInSlices } from '../concurrency/slices';
import { within } from '../concurrency/within';
import { RvmError } from '../error';
import type { ListedMessage, ListQuery, MessageList } from './inbox';
import type { PatientReading } from './patient-reading';
import { EnteringRows } from './spill/entering-rows';
import { SpilledBodies } from './spill/spilled-bodies';
import { listSpilled, type SpilledRow } from './spill/spilled-list';
import type { Spilling } from './spill/spilling';
import { storeFailed } from './store/port';
import type { LeasedMessage } from './store/protocol';
import { isListed, isOpenState, listed } from './store/stored-message';

interface Inside {
  rows: LeasedMessage[];
  fault?: RvmError;
}

/** What is in the inbox, and what is kept beside it, as one list, in which each message is once. */
export class Listing {
  readonly #bodies: SpilledBodies;

  /** @param patience time for a disk that fails to give what is on it, in milliseconds */
  constructor(
    private readonly inbox: PatientReading,
    private readonly spilling: Spilling,
    private readonly patience: number,
  ) {
    this.#bodies = new SpilledBodies(patience);
  }

  async list(query: ListQuery): Promise<MessageList> {
    const isLoaded = await within(
      this.spilling.loaded().then(() => true),
      this.patience,
    );
    const beside = await listSpilled(this.spilling.store.messages, query);
    // The inbox is asked in the step that has seen what is beside it: what enters it later is not in its answer. In the same step
    // the files are opened that are needed until then.
    const [inside] = await Promise.all([this.#inside(query, beside), this.#bodies.addTo(beside)]);
    const messages = await listedOf([...beside.map(({ row }) => row), ...inside.rows], query.limit);
    const fault =
      inside.fault ?? (isLoaded ? undefined : storeFailed('its spill folder is still being read'));
    return { messages, ...(fault && { fault }) };
  }

  async #inside(query: ListQuery, beside: readonly SpilledRow[]): Promise<Inside> {
    // Nothing is needed that is older than what fills the list already.
    const since = beside.length < query.limit ? query.since : beside.at(-1)?.row.received;
    const entering = new EnteringRows(this.spilling.store.messages, beside, query.state);
    const ends = this.spilling.ends();
    try {
      const asked = { ...query, ...(since !== undefined && { since }) };
      const found = await entering.without(await this.inbox.read('list', asked));
      const rows = found.map((row) =>
        isOpenState(row.state) ? withEnd(row, ends.get(row.deliveryId)) : row,
      );
      return { rows: rows.filter((row) => isListed(query.state, row)) };
    } catch (error) {
      if (!(error instanceof RvmError)) throw error;
      return { rows: [], fault: error };
    }
  }
}

/** It has come to an end that the inbox could not be told yet. */
function withEnd(row: LeasedMessage, state: 'delivered' | 'dead' | undefined): LeasedMessage {
  return state === undefined ? row : { ...row, state, again: undefined };
}

/** @param rows those beside the inbox before those in it: of one moment, they came later */
async function listedOf(rows: LeasedMessage[], limit: number): Promise<ListedMessage[]> {
  rows.sort((one, other) => other.received - one.received);
  const messages: ListedMessage[] = [];
  // Each body is read as JSON.
  await eachInSlices(rows.slice(0, limit), (row) => messages.push(listed(row)));
  return messages;
}
