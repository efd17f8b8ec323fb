import { fillAbsent } from '../support/editor/fill-absent';
import { typedField } from '../support/editor/typed-field';
import { numberOrReason, reasoned } from '../support/editor/validate';

RED.nodes.registerType('rvm-list-events', {
  category: 'remote monitoring',
  color: '#9fb8c8',
  icon: 'rvm-list-events.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    state: { value: 'open' },
    since: { value: '' },
    sinceType: { value: 'str' },
    limit: { value: 100, validate: reasoned((node, value) => numberOrReason(node, value, 1, 10_000)) },
  },
  paletteLabel() {
    return this._('rvm-list-events.label.node');
  },
  label() {
    return this.name || this._('rvm-list-events.label.node');
  },
  labelStyle() {
    return this.name ? 'node_label_italic' : '';
  },
  outputLabels(index) {
    return this._(index === 0 ? 'shared.result' : 'shared.failed');
  },
  oneditprepare() {
    fillAbsent(this, 'node');
    typedField('since', 'str');
  },
});
