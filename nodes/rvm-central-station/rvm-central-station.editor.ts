import { fillAbsent } from '../support/editor/fill-absent';
import { isVariable, reasoned, trimmed } from '../support/editor/validate';
import { KEY, keyFromName } from './key';
import { remarksOn } from './secret-remarks';
import { testButton } from './station-test.editor';

function keyOrReason(node: EditorNode, value: unknown): boolean | string {
  const key = trimmed(value);
  if (key === '' || isVariable(key)) return true;
  if (!KEY.test(key)) return node._('rvm-central-station.errors.key');
  let taken = false;
  RED.nodes.eachConfig((other) => {
    if (other.type === 'rvm-central-station' && other.id !== node.id && other.key === key) taken = true;
  });
  return !taken || node._('rvm-central-station.errors.keyTaken');
}

function showSchemeTip(): void {
  const scheme = String($('#node-config-input-scheme').val());
  $('.rvm-scheme-tip').hide();
  $(`.rvm-scheme-${scheme === 'http' ? 'http' : 'https'}`).show();
  $('.rvm-scheme-http-only').toggle(scheme === 'http');
}

/** The phrase is kept as typed, so what cannot be seen in a password field is told. */
function showSecretTip(node: EditorNode): void {
  const secret = String($('#node-config-input-secret').val());
  const remarks = secret === '__PWRD__' || isVariable(secret) ? [] : remarksOn(secret);
  const texts = remarks.map((remark) => $('<div>').text(node._(`rvm-central-station.secret.${remark}`)));
  $('#rvm-secret-tip')
    .prop('hidden', remarks.length === 0)
    .empty()
    .append(texts);
}

RED.nodes.registerType('rvm-central-station', {
  category: 'config',
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    key: {
      value: '',
      validate: reasoned(keyOrReason),
    },
    cloud: { value: '', type: 'rvm-cloud', required: true },
    scheme: { value: 'https' },
    agentUserId: { value: '' },
    acceptBareSignature: { value: false },
  },
  credentials: {
    username: { type: 'text' },
    password: { type: 'password' },
    secret: { type: 'password' },
    previousSecret: { type: 'password' },
  },
  label() {
    return this.name || String(this.key || '') || this._('rvm-central-station.label.centralStation');
  },
  oneditprepare() {
    fillAbsent(this, 'node-config');
    $('#node-config-input-scheme').on('change', showSchemeTip);
    $('#node-config-input-secret').on('input change', () => showSecretTip(this));
    $('#node-config-input-name').on('input', () => {
      const proposal = keyFromName(String($('#node-config-input-name').val()));
      $('#node-config-input-key').attr('placeholder', proposal);
    });
    $('#node-config-input-name').trigger('input');
    showSchemeTip();
    showSecretTip(this);
    testButton(this);
  },
  oneditsave() {
    // Stored once, so that a later change of the name does not rename the station in messages and metrics.
    const key = $('#node-config-input-key');
    if (trimmed(key.val()) === '') key.val(keyFromName(String($('#node-config-input-name').val())));
  },
});
