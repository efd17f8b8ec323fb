import type { TestResult } from '../../lib/station-test';
import { prepareForm, showReasons } from '../support/editor/form';
import { AskError, showSteps, stationAsTyped, type Step, tryStation } from '../support/editor/requests';
import { isVariable, reasoned, trimmed } from '../support/editor/validate';
import { isRealService, KEY, keyFromName, looksLikeApiKey, remarksOn } from '../support/rules';

/** The test button: tries each step on the way to live video with the values in the dialog. */
function testButton(node: EditorNode): void {
  const button = $('#rvm-station-test');
  button.on('click', () => {
    button.prop('disabled', true);
    void test(node).finally(() => button.prop('disabled', false));
  });
}

async function test(node: EditorNode): Promise<void> {
  const list = $('#rvm-station-steps');
  showSteps(list, [{ outcome: 'open', title: node._('rvm-central-station.test.running'), detail: '' }]);
  try {
    const { steps } = await tryStation<{ steps: TestResult[] }>(node, 'station-test', stationAsTyped(node));
    showSteps(
      list,
      steps.map((result) => stepOf(node, result)),
    );
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    showSteps(list, [{ outcome: 'failed', title: error.message, detail: '' }]);
  }
}

function stepOf(node: EditorNode, { step, outcome, detail, code, isUnasked }: TestResult): Step {
  const said = (key: string, values?: Record<string, unknown>): string =>
    node._(`rvm-central-station.test.${key}`, values);
  const title = said(`step.${step}`);
  const isBlocked = code === 'NETWORK' || code === 'TIMEOUT';
  if (outcome === 'failed' && step === 'relay' && isBlocked)
    return { outcome, title, detail: `${detail} ${said('blocked')}` };
  if (step === 'ptz') return { outcome, title, detail: `${detail} ${said('otherNames')}` };
  if (outcome === 'ok' && detail !== '')
    return { outcome, title: `${title}: ${detail}`, detail: isUnasked ? said('unaskedVersion') : '' };
  return { outcome, title, detail };
}

function keyOrReason(node: EditorNode, value: unknown): boolean | string {
  const key = trimmed(value);
  if (key === '' || isVariable(key)) return true;
  if (looksLikeApiKey(key)) return node._('rvm-central-station.errors.keyIsApiKey');
  if (!KEY.test(key)) return node._('rvm-central-station.errors.key');
  let taken = false;
  RED.nodes.eachConfig((other) => {
    if (other.type === 'rvm-central-station' && other.id !== node.id && other.key === key) taken = true;
  });
  return !taken || node._('rvm-central-station.errors.keyTaken');
}

/** Requires a credential with a real service. The sandbox has its own, so the field may be empty there. */
function credentialOrReason(node: EditorNode, value: unknown, reason: string): boolean | string {
  const cloud = RED.nodes.node(String($('#node-config-input-cloud').val()));
  return trimmed(value) !== '' || !isRealService(cloud?.url) || node._(reason);
}

function agentUserOrReason(node: EditorNode, value: unknown): boolean | string {
  return credentialOrReason(node, value, 'rvm-central-station.errors.noAgentUser');
}

function secretOrReason(node: EditorNode, value: unknown): boolean | string {
  return credentialOrReason(node, value, 'rvm-central-station.errors.noSecret');
}

function showSchemeTip(): void {
  const scheme = String($('#node-config-input-scheme').val());
  $('.rvm-scheme-tip').hide();
  $(`.rvm-scheme-${scheme === 'http' ? 'http' : 'https'}`).show();
  $('.rvm-scheme-http-only').toggle(scheme === 'http');
}

/** The phrase is stored as typed, so the tip reports what a password field does not show (spaces, for example). */
function showSecretTip(node: EditorNode): void {
  const secret = String($('#node-config-input-secret').val());
  const remarks = secret === '__PWRD__' || isVariable(secret) ? [] : remarksOn(secret);
  showReasons(
    '#rvm-secret-tip',
    remarks.map((remark) => node._(`rvm-central-station.secret.${remark}`)),
  );
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
    username: { type: 'text', validate: reasoned(agentUserOrReason) },
    password: { type: 'password', validate: reasoned(agentUserOrReason) },
    secret: { type: 'password', validate: reasoned(secretOrReason) },
    previousSecret: { type: 'password' },
  },
  label() {
    return this.name || trimmed(this.key) || this._('rvm-central-station.label.centralStation');
  },
  oneditprepare() {
    prepareForm(this, 'node-config');
    $('#node-config-input-scheme').on('change', showSchemeTip);
    const credentials = ['username', 'password', 'secret'].map((name) => `#node-config-input-${name}`);
    $('#node-config-input-secret').on('input change', () => showSecretTip(this));
    // Whether these fields may be empty depends on the cloud; Node-RED 4.1 validates a field only when that
    // field changes.
    $('#node-config-input-cloud').on('change', () => $(credentials.join(', ')).trigger('change'));
    $('#node-config-input-name').on('input', () => {
      const proposal = keyFromName(String($('#node-config-input-name').val()));
      const placeholder = proposal || this._('rvm-central-station.placeholder.key');
      $('#node-config-input-key').attr('placeholder', placeholder);
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
