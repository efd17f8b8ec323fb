import { MOST_VIDEO_SESSIONS } from '../../lib/limits';
import { prepareForm } from '../support/editor/form';
import {
  isOpen,
  isVariable,
  numberOrReason,
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

function versionOrReason(node: EditorNode, value: unknown): boolean | string {
  return isOpen(value) || VERSION.test(trimmed(value)) || node._('rvm-cloud.errors.version');
}

function originsOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  if (text === '' || isVariable(text)) return true;
  const wrong = text.split(',').find((part) => !/^https?:\/\/[^/\s]+\/?$/.test(part.trim()));
  return wrong === undefined || node._('rvm-cloud.errors.origins');
}

function relaysOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  if (text === '' || isVariable(text)) return true;
  return text.split(',').every((part) => isRelayHost(part.trim())) || node._('rvm-cloud.errors.relays');
}

/** One relation; which relations exist depends on the service. */
function relationOrReason(node: EditorNode, value: unknown): boolean | string {
  return isVariable(value) || /^[^\s,]*$/.test(trimmed(value)) || node._('rvm-cloud.errors.relation');
}

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
    url: {
      value: 'sandbox',
      required: true,
      validate: reasoned(urlOrReason),
    },
    versionLow: {
      value: '1',
      validate: reasoned(versionOrReason),
    },
    versionHigh: {
      value: '9',
      validate: reasoned(versionOrReason),
    },
    tls: { value: '', type: 'tls-config', required: false },
    proxy: { value: '', type: 'http proxy', required: false },
    timeout: {
      value: 10,
      validate: reasoned((node, value) => numberOrReason(node, value, 1)),
    },
    deviceRefresh: {
      value: 300,
      validate: reasoned((node, value) => numberOrReason(node, value, 0)),
    },
    signOfLife: {
      value: 60,
      validate: reasoned((node, value) => numberOrReason(node, value, 0)),
    },
    videoSessions: {
      value: 4,
      validate: reasoned((node, value) => wholeOrReason(node, value, 1, MOST_VIDEO_SESSIONS)),
    },
    trustedOrigins: {
      value: '',
      validate: reasoned(originsOrReason),
    },
    relayHosts: { value: '', validate: reasoned(relaysOrReason) },
    localRelays: { value: false },
    sandboxEvents: {
      value: 1,
      validate: reasoned((node, value) => numberOrReason(node, value, 0, MOST_EVENTS)),
    },
    loginUserField: { value: 'username' },
    loginPasswordField: { value: 'password' },
    liveStyle: { value: 'omit' },
    appendZ: { value: false },
    relDetails: { value: '', validate: reasoned(relationOrReason) },
    relPresets: { value: '', validate: reasoned(relationOrReason) },
    relTours: { value: '', validate: reasoned(relationOrReason) },
    relHome: { value: '', validate: reasoned(relationOrReason) },
    relSnapshot: { value: '', validate: reasoned(relationOrReason) },
    relGotoPreset: { value: '', validate: reasoned(relationOrReason) },
    relStartTour: { value: '', validate: reasoned(relationOrReason) },
    relStopTour: { value: '', validate: reasoned(relationOrReason) },
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
