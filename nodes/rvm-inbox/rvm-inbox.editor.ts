import { LEAST_KEY_DAYS } from '../../lib/inbox/inbox-settings';
import { isSchemaName } from '../../lib/inbox/postgres/schema-name';
import { prepareForm } from '../support/editor/form';
import {
  folderOrReason,
  isOpen,
  isVariable,
  numberOrReason,
  reasoned,
  trimmed,
} from '../support/editor/validate';
import { connectionTestButton } from './connection-test.editor';
import { ENGINES, looksLikeConnection, TLS } from '../support/rules';
import { chosenTls, isOwnTls, keepTls, prepareTls, STORED } from './tls-choice.editor';

function engineOrReason(node: EditorNode, value: unknown): boolean | string {
  const isKnown = isOpen(value) || ENGINES.some((engine) => engine === value);
  return isKnown || node._('rvm-inbox.errors.engine');
}

function isPostgres(): boolean {
  return trimmed($('#node-config-input-engine').val()) === 'postgres';
}

function connectionOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  const isUsable = text === STORED || isVariable(text) || looksLikeConnection(text);
  return isUsable || !isPostgres() || node._('rvm-inbox.errors.connection');
}

function schemaOrReason(node: EditorNode, value: unknown): boolean | string {
  return isOpen(value) || isSchemaName(trimmed(value)) || node._('rvm-inbox.errors.schema');
}

function tlsOrReason(node: EditorNode, value: unknown): boolean | string {
  const isWord = isOpen(value) || TLS.some((choice) => choice === value);
  const hasNode = Boolean(RED.nodes.node(String(value)));
  return isWord || hasNode || node._('rvm-inbox.errors.tls');
}

/** Rows that only one of the two engines has a use for. A variable may stand for either. */
function showRows(): void {
  const engine = trimmed($('#node-config-input-engine').val());
  $('.rvm-inbox-sqlite').toggle(engine !== 'postgres');
  $('.rvm-inbox-postgres').toggle(engine !== 'sqlite');
  $('.rvm-inbox-own-tls').toggle(engine !== 'sqlite' && isOwnTls());
  $('.rvm-inbox-no-tls').toggle(engine !== 'sqlite' && chosenTls() === 'off');
}

function prepareEngine(): void {
  const field = $('#node-config-input-engine');
  const choices = $('input[name="rvm-inbox-engine"]');
  choices.filter(`[value="${CSS.escape(trimmed(field.val()))}"]`).prop('checked', true);
  choices.on('change', (event) => {
    field.val(String($(event.target).val())).trigger('change');
    // What may be empty depends on it.
    $('#node-config-input-connection').trigger('change');
    showRows();
  });
}

RED.nodes.registerType('rvm-inbox', {
  category: 'config',
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    engine: { value: 'sqlite', validate: reasoned(engineOrReason) },
    folder: { value: '', validate: reasoned(folderOrReason) },
    spillFolder: { value: '', validate: reasoned(folderOrReason) },
    schema: { value: 'rvm', validate: reasoned(schemaOrReason) },
    tls: { value: 'verify', type: 'tls-config', validate: reasoned(tlsOrReason) },
    instanceName: { value: '' },
    keyDays: { value: 7, validate: reasoned((node, value) => numberOrReason(node, value, LEAST_KEY_DAYS)) },
    bodyDays: { value: 30, validate: reasoned((node, value) => numberOrReason(node, value, 0)) },
  },
  credentials: {
    connection: { type: 'password', validate: reasoned(connectionOrReason) },
  },
  label() {
    if (this.name) return this.name;
    if (this.engine === 'postgres')
      return this._('rvm-inbox.title.shared', { schema: trimmed(this.schema) || 'rvm' });
    return trimmed(this.folder) || this._('rvm-inbox.label.inbox');
  },
  oneditprepare() {
    prepareForm(this, 'node-config');
    prepareEngine();
    prepareTls(this, showRows);
    connectionTestButton(this);
    showRows();
  },
  oneditsave: keepTls,
});
