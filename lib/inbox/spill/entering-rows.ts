import type { ListQuery } from '../inbox';
import type { LeasedMessage } from '../store/protocol';
import { isListed } from '../store/stored-message';
import type { SpilledRow } from './spilled-list';
import type { SpilledMessage } from './spilled-message';
import type { SpilledMessages } from './spilled-messages';

/**
 * Rows of a list of the inbox that are messages beside it: they are just entering it, or it has taken them too late. What is
 * beside it has come further.
 */
export class EnteringRows {
  readonly #shown: ReadonlyMap<string, SpilledMessage>;

  /** @param shown of the messages beside the inbox, those that the list has */
  constructor(
    private readonly messages: SpilledMessages,
    shown: readonly SpilledRow[],
    private readonly state: ListQuery['state'],
  ) {
    this.#shown = new Map(shown.map(({ spilled }) => [keyOf(spilled.columns), spilled]));
  }

  /** What is in the inbox and nowhere else. */
  async without<Row extends LeasedMessage>(rows: readonly Row[]): Promise<Row[]> {
    const left: Row[] = [];
    for (const row of rows) {
      const twin = this.#twinOf(row);
      if (twin === undefined || !(await isSame(row, twin))) left.push(row);
    }
    return left;
  }

  /** The same message beside the inbox, where that decides: the list has it already, or rightly has it not. */
  #twinOf(row: LeasedMessage): SpilledMessage | undefined {
    const shown = this.#shown.get(keyOf(row));
    if (shown !== undefined) return shown;
    const twin = this.messages.copiesOf(row).find(({ columns }) => columns.fingerprint === row.fingerprint);
    return twin && isListed(this.state, twin.progress) ? undefined : twin;
  }
}

function keyOf({
  station,
  id,
  named,
  fingerprint,
}: Pick<LeasedMessage, 'station' | 'id' | 'named' | 'fingerprint'>): string {
  return `${station}\n${Number(named)}${id}\n${fingerprint}`;
}

/** Else the message has come twice, and is in both. As `Messages.bring` has it. */
async function isSame(row: LeasedMessage, { deliveryId, late }: SpilledMessage): Promise<boolean> {
  if (row.deliveryId === deliveryId || row.state === 'received') return true;
  // It is known since the inbox has answered what was asked of it later.
  return late !== undefined && (await late) === row.deliveryId;
}
