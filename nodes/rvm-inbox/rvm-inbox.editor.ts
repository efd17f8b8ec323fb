import { LEAST_KEY_DAYS } from '../../lib/inbox/inbox-settings';
import { fillAbsent } from '../support/editor/fill-absent';
import { isVariable, numberOrReason, reasoned, trimmed } from '../support/editor/validate';
import { isUsableFolder } from './folder-rule';

function folderOrReason(node: EditorNode, value: unknown): boolean | string {
  return isVariable(value) || isUsableFolder(trimmed(value)) || node._('rvm-inbox.errors.folder');
}

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
