import { MOVING } from '../postgres/calls/tables';
import { comparedMessage, digestOfMessage, type ComparedMessage } from './digest';
import { isUnfinished, type MovedMessage } from './moved-message';
import type { MoveProgress } from './move-progress';
import type { SourceFile } from './source-file';
import type { FoundMessage, Target } from './target';

/** What became of the messages of a file, each in one of these. */
export interface Comparison {
  /** There, row by row as in the file. */
  same: number;
  /** There already, for it was sent to that inbox, too, or moved before: it stays as it is there. */
  known: number;
  /** Final, and changed or removed since it came there, by an inbox that is in use. */
  overtaken: number;
  /** Neither: something went wrong. */
  different: number;
}

/** Compares each message of a file with what is there: digests of all that was copied, bodies by digests that the database makes. */
export async function compare(
  source: SourceFile,
  target: Target,
  { before, clock }: MoveProgress,
  told: (count: number) => void,
): Promise<Comparison> {
  const result: Comparison = { same: 0, known: 0, overtaken: 0, different: 0 };
  const { isInUse, clock: now } = await target.state();
  const mayBeOvertaken = isInUse || now > clock;
  let count = 0;
  for (const batch of source.messages()) {
    const found = await target.found(batch);
    const missing = batch.filter(({ deliveryId }) => !found.has(deliveryId));
    const sentAgain = new Set(missing.length === 0 ? [] : await target.sentAgain(missing));
    for (const message of batch) {
      const other = found.get(message.deliveryId);
      const known = other === undefined ? sentAgain.has(message) : !isBrought(other, before);
      result[known ? 'known' : fateOf(message, other, mayBeOvertaken)] += 1;
    }
    count += batch.length;
    told(count);
  }
  return result;
}

function fateOf(
  message: MovedMessage,
  other: ComparedMessage | undefined,
  mayBeOvertaken: boolean,
): 'same' | 'overtaken' | 'different' {
  if (other !== undefined && digestOfMessage(expected(message)) === digestOfMessage(other)) return 'same';
  return mayBeOvertaken && !isUnfinished(message) ? 'overtaken' : 'different';
}

/** By this move, and not by an earlier one. */
function isBrought({ sequence, state }: FoundMessage, before: number): boolean {
  return state === MOVING || sequence > before;
}

/** What counts of the past is how often it was delivered. */
function expected(message: MovedMessage): ComparedMessage {
  const compared = comparedMessage(message);
  return isUnfinished(message) ? { ...compared, state: MOVING } : { ...compared, cutOff: 0 };
}
