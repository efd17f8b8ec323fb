import { knownIds, namedBy } from '../../lib/message/event-filter';
import { stationKey } from '../support/rules';
import { ChipField, setKnown, askSeen, classOffers } from '../support/editor/chips';
import type { Pickable } from '../support/editor/picker';
import { isVariable } from '../support/editor/validate';

/** Makes the classes of the dialog chips. Events of any Central Station may come in. */
export function classField(node: EditorNode): void {
  let offers: Promise<readonly Pickable[]> | undefined;
  const load = (fresh: boolean): Promise<readonly Pickable[]> => {
    if (fresh || offers === undefined) offers = classesOf(node).then(shown);
    return offers;
  };
  const shown = (items: readonly Pickable[]): readonly Pickable[] => {
    field.show();
    return items;
  };
  const field = new ChipField({
    node,
    name: 'classes',
    all: node._('rvm-alarm-state.placeholder.classes'),
    load: async (fresh) => ({ items: await load(fresh) }),
    nameOf: () => undefined,
  });
  if (field.ids.some((id) => !isVariable(id))) void load(false);
}

/** From here on the node knows which there are. */
async function classesOf(node: EditorNode): Promise<readonly Pickable[]> {
  const seen = await askSeen(node, stationKeys());
  setKnown(node, knownIds(undefined, seen && namedBy(seen)));
  return classOffers(seen);
}

function stationKeys(): string[] {
  const keys: string[] = [];
  RED.nodes.eachConfig((config) => {
    if (config.type === 'rvm-central-station' && config.d !== true) keys.push(stationKey(config));
  });
  return keys;
}
