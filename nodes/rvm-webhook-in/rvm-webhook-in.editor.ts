import { SELF_TEST_STEPS, type SelfTestReport } from '../../lib/webhook/self-test-steps';
import { idsOrReason } from '../support/editor/chips';
import { checkAgain, currently, dialogOpened, prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, paletteLabel } from '../support/editor/palette';
import { AskError, post, showSteps, type Step, notify } from '../support/editor/requests';
import { isVariable, numberOrReason, publicUrlOrReason, reasoned, trimmed } from '../support/editor/validate';
import { isOccupiedPath, PATHS_BEGIN, POSSIBLE_PATH } from '../support/rules';
import { filterFields } from './filters.editor';

/** The test button: posts a signed message to the URL of the deployed node, as the service would. */
function selfTestButton(node: EditorNode): void {
  const button = $('#rvm-webhook-test');
  button.on('click', () => {
    button.prop('disabled', true);
    void test(node).finally(() => button.prop('disabled', false));
  });
}

async function test(node: EditorNode): Promise<void> {
  const list = $('#rvm-webhook-steps');
  const said = (key: string, values?: Record<string, unknown>): string =>
    node._(`rvm-webhook-in.test.${key}`, values);
  if (node.changed) return showSteps(list, [{ outcome: 'failed', title: said('deployFirst'), detail: '' }]);
  showSteps(list, [{ outcome: 'open', title: said('running'), detail: '' }]);
  try {
    const report = await post<SelfTestReport>((key) => node._(key), 'webhook-test', { webhook: node.id });
    const tested: Step = { outcome: 'ok', title: said('tested', { url: report.url }), detail: '' };
    showSteps(list, [tested, ...stepsOf(report, said)]);
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    showSteps(list, [{ outcome: 'failed', title: error.message, detail: '' }]);
  }
}

type Said = (key: string, values?: Record<string, unknown>) => string;

function stepsOf({ url, failed, elsewhere }: SelfTestReport, said: Said): Step[] {
  const steps = SELF_TEST_STEPS.filter((step) => step !== 'tls' || url.startsWith('https:'));
  const failedAt = failed === undefined ? steps.length : steps.indexOf(failed.step);
  return steps.map((step, index) => {
    const title = said(step === 'arrival' && elsewhere ? 'arrivedElsewhere' : `step.${step}`);
    if (index < failedAt) return { outcome: 'ok', title, detail: '' };
    if (index > failedAt || failed === undefined) return { outcome: 'open', title, detail: '' };
    return { outcome: 'failed', title, detail: said(`fault.${failed.fault}`, { seen: failed.seen }) };
  });
}

/** The path is a secret that only the service knows: 128 bits from a cryptographic generator. */
function randomPath(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return PATHS_BEGIN + Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function pathOrReason(node: EditorNode, value: unknown): boolean | string {
  const path = trimmed(value);
  if (isVariable(path)) return true;
  if (path.replace(/\//g, '') === '') return node._('rvm-webhook-in.errors.pathMissing');
  if (!POSSIBLE_PATH.test(path)) return node._('rvm-webhook-in.errors.path');
  if (isOccupiedPath(path)) return node._('rvm-webhook-in.errors.pathKept');
  return !isTaken(node, path) || node._('rvm-webhook-in.errors.pathTaken');
}

/** A copy of a node has the same path, too. */
function isTaken(node: EditorNode, path: string): boolean {
  const same = (other: unknown): string => `/${trimmed(other)}/`.replace(/\/{2,}/g, '/');
  let taken = false;
  RED.nodes.eachNode((other) => {
    if (other.type !== node.type || other.id === node.id || other.d === true) return;
    if (trimmed(other.listener) === trimmed(node.listener) && same(other.path) === same(path)) taken = true;
  });
  return taken;
}

const atLeastOne = reasoned((node, value) => numberOrReason(node, value, 1));

/** Station or cloud: one of the two is needed. Node-RED does not check that a chosen one exists and is valid. */
function sourceOrReason(node: EditorNode, value: unknown): boolean | string {
  const chosen = (id: unknown): id is string => typeof id === 'string' && id !== '' && id !== '_ADD_';
  if (!chosen(value)) return chosen(currently(node, 'cloud')) || node._('rvm-webhook-in.errors.source');
  const station = RED.nodes.node(value);
  if (!station || station.d === true) return node._('rvm-webhook-in.errors.stationMissing');
  return station.valid !== false || node._('rvm-webhook-in.errors.stationInvalid');
}

/** The listener chosen in the dialog; undefined for Node-RED's own server. */
function chosenListener() {
  return RED.nodes.node(String($('#node-input-listener').val())) ?? undefined;
}

function originOf({ tls, host, port }: EditorNode): string {
  const name = trimmed(host) || location.hostname;
  return `${tls ? 'https' : 'http'}://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${trimmed(port)}`;
}

/** The URL to register with the service. */
function fullUrl(): string {
  const listener = chosenListener();
  const own = listener === undefined ? location.origin : originOf(listener);
  const base = trimmed($('#node-input-publicUrl').val()) || own;
  const root = listener === undefined ? RED.settings.httpNodeRoot || '/' : '/';
  const path = trimmed($('#node-input-path').val());
  return base.replace(/\/+$/, '') + `/${root}/${path}`.replace(/\/{2,}/g, '/');
}

function showUrl(node: EditorNode): void {
  const disabled = RED.settings.httpNodeRoot === false && chosenListener() === undefined;
  const address = disabled ? node._('rvm-webhook-in.tip.noHttpNodes') : fullUrl();
  // The tooltip shows a URL that is too long for the field.
  $('#rvm-webhook-url').val(address).attr('title', address);
  const warning = warningOf(node);
  $('#rvm-webhook-warning')
    .prop('hidden', warning === undefined)
    .text(warning ?? '');
}

/** Warns of settings that could prevent alarms from arriving, or expose them. */
function warningOf(node: EditorNode): string | undefined {
  const url = fullUrl();
  const isPublic = trimmed($('#node-input-publicUrl').val()) !== '';
  const station = RED.nodes.node(String($('#node-input-station').val()));
  // The sandbox runs on this machine, too.
  if (station && RED.nodes.node(String(station.cloud))?.url === 'sandbox') return undefined;
  const scheme = station?.scheme;
  const warned = (key: string): string => node._(`rvm-webhook-in.warning.${key}`);
  if (scheme === 'https' && url.startsWith('http:')) return warned(isPublic ? 'clearPhrase' : 'needsTls');
  if (scheme === 'http' && url.startsWith('https:')) return warned('otherScheme');
  if (!isPublic && /^https?:\/\/(localhost|127\.|\[::1\])/.test(url)) return warned('onlyHere');
  return undefined;
}

function showSaferNode(node: EditorNode): void {
  const version = RED.settings.rvmWebhookInSaferNode;
  if (version)
    $('#rvm-webhook-safer-node')
      .prop('hidden', false)
      .text(node._('rvm-webhook-in.warning.saferNode', { version }));
}

function copyUrl(node: EditorNode): void {
  const field = $('#rvm-webhook-url');
  const done = (): void => {
    notify(node._('rvm-webhook-in.tip.copied'), { timeout: 2000 });
  };
  // Browsers offer the clipboard on secure pages only; elsewhere the user can copy the selected text.
  if (navigator.clipboard === undefined) field.trigger('select');
  else navigator.clipboard.writeText(String(field.val())).then(done, () => field.trigger('select'));
}

RED.nodes.registerType('rvm-webhook-in', {
  category: 'remote monitoring',
  categoryDescription: '@rvm/node-red-remote-monitoring/rvm-webhook-in:palette.description',
  color: '#e8a866',
  icon: 'rvm-webhook-in.svg',
  inputs: 0,
  outputs: 3,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    station: {
      value: '',
      type: 'rvm-central-station',
      validate: reasoned(sourceOrReason),
    },
    cloud: { value: '', type: 'rvm-cloud', required: false },
    path: {
      value: '',
      validate: reasoned(pathOrReason),
    },
    listener: { value: '', type: 'rvm-listener', required: false },
    publicUrl: {
      value: '',
      validate: reasoned(publicUrlOrReason),
    },
    inbox: { value: '', type: 'rvm-inbox', required: false },
    handledWhen: { value: 'sent' },
    redeliverAfter: { value: 120, validate: atLeastOne },
    maxAttempts: { value: 12, validate: atLeastOne },
    maxInFlight: {
      value: 100,
      validate: reasoned((node, value) => numberOrReason(node, value, 1, 10_000)),
    },
    silentAfter: { value: 0, validate: reasoned((node, value) => numberOrReason(node, value, 0)) },
    classes: { value: '', validate: reasoned((node, value) => idsOrReason(node, 'classes', value)) },
    sites: { value: '', validate: reasoned((node, value) => idsOrReason(node, 'sites', value)) },
    cameras: { value: '', validate: reasoned((node, value) => idsOrReason(node, 'cameras', value)) },
    rules: { value: '', validate: reasoned((node, value) => idsOrReason(node, 'rules', value)) },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels(index) {
    return this._(`rvm-webhook-in.output.${['alarms', 'health', 'problems'][index] ?? ''}`);
  },
  onadd() {
    if (!this.path) this.path = randomPath();
  },
  oneditprepare() {
    prepareForm(this, 'node');
    dialogOpened(this);
    $('#node-input-cloud').on('change', () => checkAgain('station'));
    $('#node-input-path, #node-input-publicUrl, #node-input-listener, #node-input-station').on(
      'input change',
      () => showUrl(this),
    );
    $('#rvm-webhook-copy').on('click', (event) => {
      event.preventDefault();
      copyUrl(this);
    });
    $('#rvm-webhook-new-path').on('click', (event) => {
      event.preventDefault();
      $('#node-input-path').val(randomPath()).trigger('change');
    });
    $('#node-input-handledWhen').on('change', () => {
      $('.rvm-webhook-settled').toggle($('#node-input-handledWhen').val() !== 'sent');
    });
    filterFields(this);
    showSaferNode(this);
    showUrl(this);
    selfTestButton(this);
  },
});
