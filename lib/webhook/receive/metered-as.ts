import type { Acceptance } from '../../inbox/inbox';
import type { DeadLetter, ProvenMessage } from '../../message/record';
import type { MeteredAnswer } from '../../meter';
import type { Problem } from '../problem';

const KINDS: readonly MeteredAnswer[] = ['conflict', 'stale', 'dead-letter', 'other', 'self-test'];

/** As what a message counts that was proven and stored. @param problem what output 3 is told of it */
export function meteredAs(
  problem: Pick<Problem, 'kind'> | undefined,
  { outcome }: Pick<Acceptance, 'outcome'>,
  record: ProvenMessage | DeadLetter,
): MeteredAnswer {
  if (outcome === 'repeat') return 'repeat';
  const told = KINDS.find((kind) => kind === problem?.kind);
  return told ?? ('filteredBy' in record ? 'filtered' : 'accepted');
}
