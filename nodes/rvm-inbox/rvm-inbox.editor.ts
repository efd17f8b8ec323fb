import { LEAST_KEY_DAYS } from '../../lib/inbox/inbox-settings';
import { fillAbsent } from '../support/editor/fill-absent';
import { folderOrReason, numberOrReason, reasoned } from '../support/editor/validate';

RED.nodes.registerType('rvm-inbox', {
  category: 'config',
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    folder: { value: '', validate: reasoned(folderOrReason) },
    spillFolder: { value: '', validate: reasoned(folderOrReason) },
    keyDays: { value: 7, validate: reasoned((node, value) => numberOrReason(node, value, LEAST_KEY_DAYS)) },
    bodyDays: { value: 30, validate: reasoned((node, value) => numberOrReason(node, value, 0)) },
  },
  label() {
    return this.name || String(this.folder || '') || this._('rvm-inbox.label.inbox');
  },
  oneditprepare() {
    fillAbsent(this, 'node-config');
  },
});
