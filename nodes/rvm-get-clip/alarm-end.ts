import { RvmError } from '../../lib/error';
import { isRecord } from '../../lib/json/json';
import { readTime } from '../../lib/time';
import type { NodeMessage } from 'node-red';

/** Milliseconds between two looks for the end of an alarm. */
const LOOK = 2000;

/** An alarm that goes on. */
export interface Alarm {
  station: string;
  alarmId: string;
  /** When its first event came, in milliseconds since 1970. */
  since: number;
}

/**
 * The alarm that a message belongs to.
 * @throws RvmError BAD_INPUT where it is none of *webhook in*
 */
export function alarmOf(msg: NodeMessage): Alarm {
  const { event, webhook } = msg as { event?: unknown; webhook?: unknown };
  if (isRecord(event) && isRecord(webhook)) {
    const { alarmId } = event;
    const { station, receivedTime } = webhook;
    const since = readTime(receivedTime)?.getTime();
    if (typeof alarmId === 'string' && typeof station === 'string' && since !== undefined)
      return { station, alarmId, since };
  }
  throw new RvmError(
    'BAD_INPUT',
    'A clip to the end of the alarm needs msg.event and msg.webhook of webhook in, with an alarmId: keep both, or switch "To the end of the alarm" off.',
  );
}

/** Looks every two seconds when something ended, until it did. */
export class EndWatch {
  #end: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(look: () => Promise<number | undefined>) {
    this.#look(look);
  }

  /** In milliseconds since 1970; undefined while it has not ended. */
  get end(): number | undefined {
    return this.#end;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #look(look: () => Promise<number | undefined>): void {
    void look()
      // An inbox that cannot be read now may be in two seconds.
      .catch(() => undefined)
      .then((end) => {
        this.#end = end;
        if (end === undefined && !this.#closed) this.#timer = setTimeout(() => this.#look(look), LOOK);
      });
  }
}
