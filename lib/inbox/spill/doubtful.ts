import { withTimeout } from '../../concurrency/timers';
import type { Known, MessageKey } from '../store/protocol';
import { messageKeyOf } from '../store/stored-message';
import type { SpilledMessage } from './spilled-message';

/** Messages of which is asked together. */
const BATCH = 100;

/** What the inbox knows of each message; undefined of one where it cannot tell. */
type Answers = (Known | undefined)[];

export interface DoubtfulWork {
  /** What the inbox knows of a message. @throws RvmError STORE_FAILED */
  look(likeness: MessageKey): Promise<Known>;
  /** Time for it to tell of a batch, in milliseconds; at a start it is to be opened first. */
  patience: number;
  /** These are in the inbox. */
  inside(messages: readonly SpilledMessage[]): Promise<void>;
  /** These are not, or may be and say so: they may go. */
  release(messages: readonly SpilledMessage[]): void;
}

/**
 * What a former process has left may have entered the inbox, and been settled there, where it could neither remove the file nor
 * note that: so the inbox is asked before it goes to the flow. Where that does not tell, the event says that it may come twice.
 */
export async function resolveUncertain(
  messages: readonly SpilledMessage[],
  work: DoubtfulWork,
): Promise<void> {
  let isAnswered = true;
  for (let at = 0; at < messages.length; at += BATCH) {
    const batch = messages.slice(at, at + BATCH);
    const known: Answers | undefined = isAnswered ? await lookAll(batch, work) : undefined;
    isAnswered = known !== undefined;
    for (const [index, spilled] of batch.entries()) spilled.mayRepeat ||= known?.[index] === undefined;
    // Not one of which somebody has said meanwhile that it is settled.
    await work.inside(
      batch.filter(
        ({ progress }, index) => progress.state === 'received' && known?.[index]?.outcome === 'repeat',
      ),
    );
    for (const spilled of batch) spilled.isDoubtful = false;
    work.release(batch);
  }
}

/** Undefined where it does not answer in time. */
function lookAll(batch: readonly SpilledMessage[], work: DoubtfulWork): Promise<Answers | undefined> {
  const asking = batch.map(({ columns }) => work.look(messageKeyOf(columns)).catch(() => undefined));
  return withTimeout(Promise.all(asking), work.patience);
}
