import {
  idsIn,
  type FilterName,
  JUDGED,
  unknownIds,
  type KnownIds,
} from '../../../../lib/message/event-filter';
import { isVariable, trimmed } from '../validate';

/** What is known, by node: as its dialog was told last. */
const known = new Map<string, KnownIds>();

/** @param ids undefined where nobody can say any more */
export function setKnown({ id }: EditorNode, ids: KnownIds | undefined): void {
  if (ids === undefined) known.delete(id);
  else known.set(id, ids);
}

/** Those of all that are chosen that nobody knows. What stands for others, nobody can judge. */
export function unknownOf({ id }: EditorNode, name: FilterName, ids: readonly string[]): readonly string[] {
  const judged = JUDGED.find((each) => each === name);
  if (judged === undefined) return [];
  const chosen = ids.filter((each) => !isVariable(each));
  const wanted = { classes: [], sites: [], cameras: [], rules: [], [judged]: chosen };
  return unknownIds(wanted, known.get(id) ?? {})[judged];
}

/** True, or the reason: ids that are known as far as that can be said, or a variable in place of all of them. */
export function idsOrReason(node: EditorNode, name: FilterName, value: unknown): boolean | string {
  const ids = idsIn(trimmed(value));
  if (isVariable(value)) return true;
  if (ids.some(isVariable)) return node._('shared.chips.variableAlone');
  const unknown = unknownOf(node, name, ids);
  return unknown.length === 0 || node._(`shared.chips.unknown.${name}`, { id: unknown.join(', ') });
}
