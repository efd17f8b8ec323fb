import type { ListQuery } from '../../inbox';
import type { PageOfMessages } from '../../store/page';
import type { PageQuery } from '../../store/page-query';
import type { StoredMessage } from '../../store/protocol';
import type { Bodies } from './bodies';
import type { HistoryTable } from './history-table';
import { oneEvent } from './one-event';
import { LIST, listedMessage, PAGE, type Row, type Statements } from './statements';

/** Before the first message that was received at a time. */
const FIRST = -1;

/** The messages of an inbox as they are shown. */
export class MessageLists {
  /** @param bodies adds the bodies to what is given, once the transaction is over */
  constructor(
    private readonly statements: Statements,
    private readonly history: HistoryTable,
    private readonly bodies: Bodies,
  ) {}

  list(query: ListQuery): StoredMessage[] {
    const messages = this.#rowsOf(query).map(listedMessage);
    if (query.history === true) this.#addSteps(messages);
    this.bodies.list(messages);
    return messages;
  }

  page({ state, since, until, after, limit, bodies, steps }: PageQuery): PageOfMessages {
    const { received, sequence } = after ?? { received: since, sequence: FIRST };
    const rows = this.statements[PAGE[state]].all(received, sequence, until, limit);
    const messages = rows.map((row) => ({
      ...listedMessage(row),
      ...(row['alarm_key'] !== null && { alarm: String(row['alarm_key']) }),
    }));
    if (steps) this.#addSteps(messages);
    if (bodies) this.bodies.list(messages);
    return messages;
  }

  #addSteps(messages: readonly StoredMessage[]): void {
    for (const message of messages) message.steps = this.history.of(message.sequence);
  }

  #rowsOf({ state, since = 0, until = Number.MAX_SAFE_INTEGER, alarm, deliveryId, limit }: ListQuery): Row[] {
    if (deliveryId !== undefined) return this.statements.find.all(...oneEvent(this.statements, deliveryId));
    if (alarm === undefined) return this.statements[LIST[state]].all(since, until, limit);
    return this.statements.listAlarm.all(alarm.station, alarm.alarmId, since, until, limit);
  }
}
