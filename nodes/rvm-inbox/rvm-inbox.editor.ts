import { fillAbsent } from '../support/editor/fill-absent';
import { numberOrReason, reasoned } from '../support/editor/validate';

RED.nodes.registerType('rvm-inbox', {
  category: 'config',
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    folder: { value: '' },
    spillFolder: { value: '' },
    keyDays: { value: 7, validate: reasoned((node, value) => numberOrReason(node, value, 2)) },
    bodyDays: { value: 30, validate: reasoned((node, value) => numberOrReason(node, value, 0)) },
  },
  label() {
    return this.name || String(this.folder || '') || this._('rvm-inbox.label.inbox');
  },
  oneditprepare() {
    fillAbsent(this, 'node-config');
  },
});
