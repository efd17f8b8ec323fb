import { prepareForm } from '../support/editor/form';
import { isVariable, listPassing, passing, reasoned, trimmed } from '../support/editor/validate';
import { isPort } from '../support/rules';

function portOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  return isVariable(text) || isPort(text) || node._('rvm-listener.errors.port');
}

function isAddress(part: string): boolean {
  return /^(?:[\d.]+|[\da-f:.]*:[\da-f:.]*)$/i.test(part);
}

RED.nodes.registerType('rvm-listener', {
  category: 'config',
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    port: { value: '', required: true, validate: reasoned(portOrReason) },
    host: { value: '', validate: passing((text) => /^[^\s/]*$/.test(text), 'rvm-listener.errors.host') },
    tls: { value: '', type: 'tls-config', required: false },
    proxies: { value: '', validate: listPassing(isAddress, 'rvm-listener.errors.proxies') },
  },
  label() {
    const scheme = this.tls ? 'https' : 'http';
    return this.name || `${this._('rvm-listener.label.listener')} ${scheme} ${trimmed(this.port)}`;
  },
  oneditprepare() {
    prepareForm(this, 'node-config');
  },
});
