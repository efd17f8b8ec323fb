import { withTimeout } from '../../concurrency/timers';
import type { ListQuery, MessageList } from '../inbox';
import { listedOf, rowsOf, type InboxRows } from '../inbox-rows';
import type { PatientReading } from '../patient-reading';
import { EnteringRows } from './entering-rows';
import { SpilledBodies } from './spilled-bodies';
import { listSpilled, type SpilledRow } from './spilled-list';
import type { Spilling } from './spilling';
import { storeFailed } from '../store/port';
import type { LeasedMessage } from '../store/protocol';
import { isListed, isOpenState } from '../store/stored-message';

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
    const isLoaded = await withTimeout(
      this.spilling.loaded().then(() => true),
      this.patience,
    );
    const beside = await listSpilled(this.spilling.store.messages, query);
    // The inbox is asked in the step that has seen what is beside it: what enters it later is not in its answer. In the same step
    // the files are opened that are needed until then.
    const [inside] = await Promise.all([this.#inside(query, beside), this.#bodies.addTo(beside)]);
    // Of one moment, those beside the inbox came later.
    const messages = await listedOf([...beside.map(({ row }) => row), ...inside.rows], query);
    const fault =
      inside.fault ?? (isLoaded ? undefined : storeFailed('its spill folder is still being read'));
    return { messages, ...(fault && { fault }) };
  }

  async #inside(query: ListQuery, beside: readonly SpilledRow[]): Promise<InboxRows> {
    // Nothing is needed that is older than what fills the list already.
    const since = beside.length < query.limit ? query.since : beside.at(-1)?.row.received;
    const entering = new EnteringRows(this.spilling.store.messages, beside, query.state);
    const ends = this.spilling.ends();
    const asked = { ...query, ...(since !== undefined && { since }) };
    const inside = await rowsOf(this.inbox, asked);
    const found = await entering.without(inside.rows);
    const rows = found.map((row) => (isOpenState(row.state) ? withEnd(row, ends.get(row.deliveryId)) : row));
    return { ...inside, rows: rows.filter((row) => isListed(query.state, row)) };
  }
}

/** It has come to an end that the inbox could not be told yet. */
function withEnd(row: LeasedMessage, state: 'delivered' | 'dead' | undefined): LeasedMessage {
  return state === undefined ? row : { ...row, state, again: undefined };
}
