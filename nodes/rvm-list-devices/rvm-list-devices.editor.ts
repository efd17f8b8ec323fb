import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
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
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels,
  oneditprepare() {
    prepareForm(this, 'node');
    typedField('search', 'str');
  },
});
