import { FILTERS, idsIn, type FilterName } from '../../../lib/message/filter-list';
import { JUDGED, unknownIds, type KnownIds } from '../../../lib/message/known-ids';
import { isVariable, trimmed } from '../../support/editor/validate';
import { ChipField } from './chip-field.editor';
import { filterOffers, offerOf, type Offers } from './filter-offers.editor';

/** What is known, by node: as its dialog was told last. */
const known = new Map<string, KnownIds>();

/** True, or the reason: ids that are known as far as that can be said, or a variable in place of all of them. */
export function filterOrReason(node: EditorNode, name: FilterName, value: unknown): boolean | string {
  const ids = idsIn(trimmed(value));
  if (isVariable(value)) return true;
  if (ids.some(isVariable)) return node._('rvm-webhook-in.errors.variableAlone');
  const unknown = unknownOf(node, name, ids);
  return unknown.length === 0 || node._(`rvm-webhook-in.errors.unknown.${name}`, { id: unknown.join(', ') });
}

function unknownOf({ id }: EditorNode, name: FilterName, ids: readonly string[]): readonly string[] {
  const judged = JUDGED.find((each) => each === name);
  if (judged === undefined) return [];
  const wanted = { classes: [], sites: [], cameras: [], rules: [], [judged]: ids };
  return unknownIds(wanted, known.get(id) ?? {})[judged];
}

/** Makes the filters of the dialog lists of chips. What there is, is asked for once somebody wants it, or something is chosen. */
export function filterFields(node: EditorNode): void {
  let offers: Promise<Offers> | undefined;
  let names = new Map<string, string>();

  const load = (fresh: boolean): Promise<Offers> => {
    if (fresh || offers === undefined) {
      const asked = filterOffers(node, fresh);
      offers = asked;
      // The dialog may have chosen another station since.
      void asked.then((found) => offers === asked && told(found));
    }
    return offers;
  };
  const told = (found: Offers): void => {
    names = new Map(FILTERS.flatMap((name) => found[name]).map((item) => [item.id, item.name]));
    known.set(node.id, found.known);
    for (const field of fields) field.show();
  };
  const fields = FILTERS.map(
    (name) =>
      new ChipField({
        node,
        name,
        title: node._('rvm-webhook-in.filter.choose'),
        load: async (fresh) => offerOf(name, await load(fresh), node._('rvm-webhook-in.filter.none')),
        nameOf: (id) => names.get(id),
        unknownOf: (ids) =>
          unknownOf(
            node,
            name,
            ids.filter((id) => !isVariable(id)),
          ),
      }),
  );
  const isChosen = (): boolean => fields.some(({ ids }) => ids.some((id) => !isVariable(id)));
  $('#node-input-station, #node-input-cloud').on('change', () => {
    offers = undefined;
    known.delete(node.id);
    for (const field of fields) {
      field.reset();
      field.show();
    }
    if (isChosen()) void load(false);
  });
  if (isChosen()) void load(false);
}
