import type { Known, NewMessage } from '../store/protocol';
import type { SpilledFacts } from './frame';
import { alarmOf, isOpen, type SpilledMessage } from './spilled-message';
import type { SpilledMessages } from './spilled-messages';

/** What the other events of its alarm mean for one that is spilled. */
export class AlarmOrder {
  constructor(private readonly messages: SpilledMessages) {}

  /**
   * Whether a message is the first of its alarm, and comes after its end. What is spilled came after what is in the inbox.
   * @param known what the inbox knows of the alarm; undefined where not all that came before is known
   */
  phaseOf(message: NewMessage, known: Known | undefined): Pick<SpilledFacts, 'first' | 'ended'> {
    if (known === undefined) return { first: null, ended: null };
    const before = this.messages.ofAlarm(message);
    return {
      first: known.first && before.length === 0,
      ended: known.ended || before.some(({ columns }) => columns.isEnd),
    };
  }

  /** Whether one of the alarm of a message, of its endpoint, is open. */
  hasOpen(message: NewMessage): boolean {
    return this.#openOf(message).length > 0;
  }

  /**
   * One event of an alarm after the other.
   * @param atWork the alarms, as `alarmOf` names them, of which the flow of its endpoint has an event at work
   */
  mustWait({ columns, order }: SpilledMessage, atWork: ReadonlySet<string>): boolean {
    const { station, alarm } = columns;
    if (alarm === undefined) return false;
    return atWork.has(alarmOf(station, alarm)) || this.#openOf(columns).some((other) => other.order < order);
  }

  #openOf(one: Pick<NewMessage, 'station' | 'alarm' | 'endpoint'>): SpilledMessage[] {
    return this.messages
      .ofAlarm(one)
      .filter((other) => isOpen(other) && other.columns.endpoint === one.endpoint);
  }
}
