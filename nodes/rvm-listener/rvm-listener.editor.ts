import { prepareForm } from '../support/editor/form';
import { isVariable, reasoned, trimmed } from '../support/editor/validate';
import { isPort } from '../support/rules';

function portOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  return isVariable(text) || isPort(text) || node._('rvm-listener.errors.port');
}

function hostOrReason(node: EditorNode, value: unknown): boolean | string {
  return /^[^\s/]*$/.test(trimmed(value)) || node._('rvm-listener.errors.host');
}

function proxiesOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  if (text === '' || isVariable(text)) return true;
  const isAddress = (part: string): boolean => /^(?:[\d.]+|[\da-f:.]*:[\da-f:.]*)$/i.test(part.trim());
  return text.split(',').every(isAddress) || node._('rvm-listener.errors.proxies');
}

RED.nodes.registerType('rvm-listener', {
  category: 'config',
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    port: { value: '', required: true, validate: reasoned(portOrReason) },
    host: { value: '', validate: reasoned(hostOrReason) },
    tls: { value: '', type: 'tls-config', required: false },
    proxies: { value: '', validate: reasoned(proxiesOrReason) },
  },
  label() {
    const scheme = this.tls ? 'https' : 'http';
    return this.name || `${this._('rvm-listener.label.listener')} ${scheme} ${trimmed(this.port)}`;
  },
  oneditprepare() {
    prepareForm(this, 'node-config');
  },
});
