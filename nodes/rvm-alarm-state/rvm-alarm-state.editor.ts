import { LONGEST_HOLD, MOST_COUNTED } from '../../lib/alarms/settings';
import { knownIds, namedBy } from '../../lib/message/event-filter';
import { askSeen, ChipField, classOffers, idsOrReason, setKnown } from '../support/editor/chips';
import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, paletteLabel } from '../support/editor/palette';
import type { Pickable } from '../support/editor/picker';
import { isVariable, numberOrReason, reasoned, trimmed, wholeOrReason } from '../support/editor/validate';
import { KEY, keyFromName, stationKey } from '../support/rules';

/** Turns the classes of the dialog into chips. Events of any Central Station may arrive. */
function classField(node: EditorNode): void {
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

/** Loads the classes, and sets them as known for the node. */
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

const OUTPUTS = ['state', 'extended', 'held'] as const;

/** True, or the reason. Valid: a key, or empty, because one is derived from the name. */
function keyOrReason(node: EditorNode, value: unknown): boolean | string {
  const key = trimmed(value);
  return key === '' || isVariable(key) || KEY.test(key) || node._('rvm-alarm-state.errors.key');
}

RED.nodes.registerType('rvm-alarm-state', {
  category: 'remote monitoring',
  color: '#e8a866',
  icon: 'rvm-alarm-state.svg',
  inputs: 1,
  outputs: 3,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    key: { value: '', validate: reasoned(keyOrReason) },
    inbox: { value: '', type: 'rvm-inbox', required: false },
    group: { value: 'site' },
    hold: { value: 30, validate: reasoned((node, value) => numberOrReason(node, value, 1, LONGEST_HOLD)) },
    ignoreOlder: { value: 300, validate: reasoned((node, value) => numberOrReason(node, value, 0)) },
    count: { value: 1, validate: reasoned((node, value) => wholeOrReason(node, value, 1, MOST_COUNTED)) },
    within: { value: 60, validate: reasoned((node, value) => numberOrReason(node, value, 1, LONGEST_HOLD)) },
    classes: { value: '', validate: reasoned((node, value) => idsOrReason(node, 'classes', value)) },
    sandbox: { value: false },
    repeat: { value: 60, validate: reasoned((node, value) => numberOrReason(node, value, 0, LONGEST_HOLD)) },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels(index) {
    return this._(`rvm-alarm-state.output.${OUTPUTS[index] ?? 'state'}`);
  },
  oneditprepare() {
    prepareForm(this, 'node');
    const showKey = (): void => {
      const proposal = keyFromName(String($('#node-input-name').val()));
      $('#node-input-key').attr('placeholder', proposal || this._('rvm-alarm-state.placeholder.key'));
    };
    $('#node-input-name').on('input change', showKey);
    showKey();
    classField(this);
  },
  oneditsave() {
    // Stored once, so that a later change of the name does not select another state.
    const key = $('#node-input-key');
    if (trimmed(key.val()) === '') key.val(keyFromName(String($('#node-input-name').val())));
  },
});
