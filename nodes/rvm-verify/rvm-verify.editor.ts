import { addPaletteWords, prepareForm } from '../support/editor/form';

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
  paletteLabel() {
    return this._('rvm-verify.label.node');
  },
  onpaletteadd() {
    addPaletteWords(this);
  },
  label() {
    return this.name || this._('rvm-verify.label.node');
  },
  labelStyle() {
    return this.name ? 'node_label_italic' : '';
  },
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
