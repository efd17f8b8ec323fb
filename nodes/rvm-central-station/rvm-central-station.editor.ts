import type { TestResult } from '../../lib/station-test';
import { prepareForm, showReasons } from '../support/editor/form';
import { stationAsTyped, type Step, testButton, tryStation } from '../support/editor/requests';
import { isVariable, reasoned, trimmed } from '../support/editor/validate';
import { isRealService, KEY, keyFromName, looksLikeApiKey, remarksOn } from '../support/rules';

/** Tries each step on the way to live video with the values in the dialog. */
async function test(node: EditorNode): Promise<Step[]> {
  const { steps } = await tryStation<{ steps: TestResult[] }>(node, 'station-test', stationAsTyped(node));
  return steps.map((result) => stepOf(node, result));
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
function neededCredential(reason: string): ReturnType<typeof reasoned> {
  return reasoned((node, value) => {
    const cloud = RED.nodes.node(String($('#node-config-input-cloud').val()));
    return trimmed(value) !== '' || !isRealService(cloud?.url) || node._(reason);
  });
}

const agentUser = neededCredential('rvm-central-station.errors.noAgentUser');

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
    key: { value: '', validate: reasoned(keyOrReason) },
    cloud: { value: '', type: 'rvm-cloud', required: true },
    scheme: { value: 'https' },
    agentUserId: { value: '' },
    acceptBareSignature: { value: false },
  },
  credentials: {
    username: { type: 'text', validate: agentUser },
    password: { type: 'password', validate: agentUser },
    secret: { type: 'password', validate: neededCredential('rvm-central-station.errors.noSecret') },
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
    testButton('rvm-station', this._('rvm-central-station.test.running'), () => test(this));
  },
  oneditsave() {
    // Stored once, so that a later change of the name does not rename the station in messages and metrics.
    const key = $('#node-config-input-key');
    if (trimmed(key.val()) === '') key.val(keyFromName(String($('#node-config-input-name').val())));
  },
});
