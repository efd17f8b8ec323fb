import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, paletteLabel } from '../support/editor/palette';

RED.nodes.registerType('rvm-verify', {
  category: 'remote monitoring',
  color: '#e8a866',
  icon: 'rvm-verify.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    station: { value: '', type: 'rvm-central-station', required: true },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  inputLabels() {
    return this._('rvm-verify.label.input');
  },
  outputLabels(index) {
    return this._(`rvm-verify.output.${index === 0 ? 'authentic' : 'not'}`);
  },
  oneditprepare() {
    prepareForm(this, 'node');
  },
});
