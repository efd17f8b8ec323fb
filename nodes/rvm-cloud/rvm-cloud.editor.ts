import { MOST_VIDEO_SESSIONS } from '../../lib/limits';
import { prepareForm } from '../support/editor/form';
import {
  inRange,
  isVariable,
  listPassing,
  passing,
  reasoned,
  trimmed,
  wholeOrReason,
} from '../support/editor/validate';
import { isRelayHost, isRealService, SANDBOX } from '../support/rules';

/** Maximum of sandbox alarms per minute. */
const MOST_EVENTS = 600;

const VERSION = /^\d+(\.\d+)*$/;

function urlOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  if (text === SANDBOX || isVariable(text)) return true;
  try {
    if (['http:', 'https:'].includes(new URL(text).protocol)) return true;
  } catch {
    // Not a URL: the reason below says what is expected.
  }
  return node._('rvm-cloud.errors.url');
}

const version = passing((text) => VERSION.test(text), 'rvm-cloud.errors.version');
/** One relation; which relations exist depends on the service. */
const relation = passing((text) => /^[^\s,]*$/.test(text), 'rvm-cloud.errors.relation');

/** Not needed where the sandbox, which has its own key, or a variable is the URL. */
function apiKeyOrReason(node: EditorNode, value: unknown): boolean | string {
  const url = $('#node-config-input-url').val();
  return trimmed(value) !== '' || !isRealService(url) || node._('rvm-cloud.errors.noApiKey');
}

/** Shows the rows of the sandbox or of a real service. The API key stays visible, because users look for it. */
function showRows(): void {
  const url = trimmed($('#node-config-input-url').val());
  // A variable may stand for the sandbox or a service.
  $('.rvm-sandbox-only').toggle(url === SANDBOX || isVariable(url));
  $('.rvm-service-only').toggle(url !== SANDBOX);
  $('.rvm-cloud-no-key').toggle(url === SANDBOX);
  $('#node-config-input-apiKey').prop('disabled', url === SANDBOX);
}

RED.nodes.registerType('rvm-cloud', {
  category: 'config',
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    url: { value: 'sandbox', required: true, validate: reasoned(urlOrReason) },
    versionLow: { value: '1', validate: version },
    versionHigh: { value: '9', validate: version },
    tls: { value: '', type: 'tls-config', required: false },
    proxy: { value: '', type: 'http proxy', required: false },
    timeout: { value: 10, validate: inRange(1) },
    deviceRefresh: { value: 300, validate: inRange(0) },
    signOfLife: { value: 60, validate: inRange(0) },
    videoSessions: {
      value: 4,
      validate: reasoned((node, value) => wholeOrReason(node, value, 1, MOST_VIDEO_SESSIONS)),
    },
    trustedOrigins: {
      value: '',
      validate: listPassing((part) => /^https?:\/\/[^/\s]+\/?$/.test(part), 'rvm-cloud.errors.origins'),
    },
    relayHosts: { value: '', validate: listPassing(isRelayHost, 'rvm-cloud.errors.relays') },
    localRelays: { value: false },
    sandboxEvents: { value: 1, validate: inRange(0, MOST_EVENTS) },
    loginUserField: { value: 'username' },
    loginPasswordField: { value: 'password' },
    liveStyle: { value: 'omit' },
    appendZ: { value: false },
    relDetails: { value: '', validate: relation },
    relPresets: { value: '', validate: relation },
    relTours: { value: '', validate: relation },
    relHome: { value: '', validate: relation },
    relSnapshot: { value: '', validate: relation },
    relGotoPreset: { value: '', validate: relation },
    relStartTour: { value: '', validate: relation },
    relStopTour: { value: '', validate: relation },
  },
  credentials: {
    apiKey: { type: 'password', validate: reasoned(apiKeyOrReason) },
    loginExtra: { type: 'password' },
  },
  label() {
    return (
      this.name ||
      (this.url === SANDBOX ? this._('rvm-cloud.label.sandbox') : this._('rvm-cloud.label.cloud'))
    );
  },
  oneditprepare() {
    prepareForm(this, 'node-config');
    $('#node-config-input-url').on('input change', showRows);
    $('#rvm-cloud-use-sandbox').on('click', (event) => {
      event.preventDefault();
      $('#node-config-input-url').val(SANDBOX).trigger('change');
    });
    showRows();
  },
});
