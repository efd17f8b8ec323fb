import { stationKey } from '../support/rules';
import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, paletteLabel } from '../support/editor/palette';
import { isVariable, inRange, reasoned, trimmed } from '../support/editor/validate';

/** Maximum of stations offered; keys of others can be typed. */
const MOST = 500;

interface Choice {
  key: string;
  name: string;
}

/** Stations in the editor, deployed or not, by name. */
function stationsThereAre(): Choice[] {
  const found: Choice[] = [];
  RED.nodes.eachConfig((node) => {
    if (node.type !== 'rvm-central-station' || node.d === true) return;
    found.push({ key: stationKey(node), name: trimmed(node.name) });
  });
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

function keysIn(value: unknown): string[] {
  return trimmed(value)
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
}

function stationsOrReason(node: EditorNode, value: unknown): boolean | string {
  if (isVariable(value)) return true;
  const known = stationsThereAre();
  // The editor does not know the value of a variable, so the key cannot be judged.
  if (known.some(({ key }) => isVariable(key))) return true;
  const unknown = keysIn(value).find((key) => !known.some((station) => station.key === key));
  return unknown === undefined || node._('rvm-watch.errors.unknown', { key: unknown });
}

/** Adds a checkbox per Central Station, kept in step with the field. */
function offerStations(): void {
  const field = $('#node-input-stations');
  const list = $('#rvm-watch-stations').empty();
  const boxes = stationsThereAre()
    .slice(0, MOST)
    .map(({ key, name }) => {
      const box = $('<input type="checkbox">').val(key);
      list.append(
        $('<label class="rvm-tick">').append(box, $('<span>').text(name || key), $('<code>').text(key)),
      );
      return box;
    });
  const show = (): void => {
    const chosen = keysIn(field.val());
    for (const box of boxes) box.prop('checked', chosen.includes(String(box.val())));
  };
  const take = (): void => {
    const offered = new Set(boxes.map((box) => String(box.val())));
    const typed = keysIn(field.val()).filter((key) => !offered.has(key));
    const ticked = boxes.filter((box) => box.prop('checked') === true).map((box) => String(box.val()));
    field.val([...ticked, ...typed].join(', ')).trigger('change');
  };
  for (const box of boxes) box.on('change', take);
  field.on('input', show);
  show();
}

RED.nodes.registerType('rvm-watch', {
  category: 'remote monitoring',
  color: '#e8a866',
  icon: 'rvm-watch.svg',
  inputs: 0,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    stations: { value: '', validate: reasoned(stationsOrReason) },
    interval: { value: 60, validate: inRange(1) },
    selfTest: { value: 0, validate: inRange(0) },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels(index) {
    return this._(index === 0 ? 'rvm-watch.output.change' : 'rvm-watch.output.pulse');
  },
  oneditprepare() {
    prepareForm(this, 'node');
    offerStations();
  },
});
