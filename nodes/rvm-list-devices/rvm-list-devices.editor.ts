import { addPaletteWords, prepareForm } from '../support/editor/form';
import { typedField } from '../support/editor/fields';
import { deadlineOrReason, reasoned } from '../support/editor/validate';

RED.nodes.registerType('rvm-list-devices', {
  category: 'remote monitoring',
  color: '#a9cee0',
  icon: 'rvm-list-devices.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    station: { value: '', type: 'rvm-central-station', required: false },
    show: { value: 'all' },
    search: { value: '' },
    searchType: { value: 'str' },
    output: { value: 'array' },
    fresh: { value: false },
    links: { value: false },
    deadline: { value: 30, validate: reasoned(deadlineOrReason) },
  },
  paletteLabel() {
    return this._('rvm-list-devices.label.node');
  },
  onpaletteadd() {
    addPaletteWords(this);
  },
  label() {
    return this.name || this._('rvm-list-devices.label.node');
  },
  labelStyle() {
    return this.name ? 'node_label_italic' : '';
  },
  outputLabels(index) {
    return this._(index === 0 ? 'shared.result' : 'shared.failed');
  },
  oneditprepare() {
    prepareForm(this, 'node');
    typedField('search', 'str');
  },
});
