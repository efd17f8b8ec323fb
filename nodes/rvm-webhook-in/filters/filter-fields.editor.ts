import { FILTERS } from '../../../lib/message/event-filter';
import { ChipField, setKnown } from '../../support/editor/chips';
import { isVariable } from '../../support/editor/validate';
import { filterOffers, offerOf, type Offers } from './filter-offers.editor';

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
    setKnown(node, found.known);
    for (const field of fields) field.show();
  };
  const fields = FILTERS.map(
    (name) =>
      new ChipField({
        node,
        name,
        all: node._('rvm-webhook-in.filter.all'),
        load: async (fresh) => offerOf(name, await load(fresh), sitesChosen(), node._('shared.chips.none')),
        nameOf: (id) => names.get(id),
      }),
  );
  const sitesChosen = (): readonly string[] => fields[FILTERS.indexOf('sites')]?.ids ?? [];
  const isChosen = (): boolean => fields.some(({ ids }) => ids.some((id) => !isVariable(id)));
  $('#node-input-station, #node-input-cloud').on('change', () => {
    offers = undefined;
    setKnown(node, undefined);
    for (const field of fields) {
      field.reset();
      field.show();
    }
    if (isChosen()) void load(false);
  });
  if (isChosen()) void load(false);
}
