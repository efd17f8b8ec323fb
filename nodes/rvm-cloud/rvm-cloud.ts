import type { NodeAPI, NodeDef } from 'node-red';
import { RvmError } from '../../lib/error';
import { userAgent } from '../support/package-version';
import { registerNode } from '../support/register';
import {
  firstUnsetVariable,
  flagOf,
  listOf,
  numberOf,
  textOf,
  unsetVariableError,
  type Properties,
} from '../support/settings';
import type { CloudConnection, CloudNode } from './cloud-node';
import { SandboxHost } from './sandbox-host';

/** The word in `url` that stands for the built-in sandbox. */
const SANDBOX = 'sandbox';

/** Where the sandbox listens; `false` where the settings forbid it. */
type Placement = false | { host?: string; port?: number; rtspPort?: number };

function build(RED: NodeAPI, node: CloudNode, config: NodeDef): void {
  const properties: Properties = { ...config };
  const apiKey = node.credentials?.apiKey ?? '';
  const url = textOf(properties, 'url', SANDBOX).trim();
  const placement = placementOf(RED.settings.get('rvmSandbox'));
  const host = new SandboxHost(
    {
      ...(placement === false ? {} : placement),
      apiKey,
      eventsPerMinute: numberOf(properties, 'sandboxEvents', 1),
    },
    (line) => node.log(line),
  );

  node.isSandbox = url === SANDBOX;
  node.unsetVariable = firstUnsetVariable(config, node.credentials);

  node.sandbox = async () => {
    if (node.unsetVariable !== undefined) throw unsetVariableError(node.unsetVariable);
    if (placement === false) throw sandboxForbidden();
    return host.sandbox();
  };

  node.connection = async () => {
    if (node.unsetVariable !== undefined) throw unsetVariableError(node.unsetVariable);
    const loginExtra = parseLoginExtra(node.credentials?.loginExtra);
    if (node.isSandbox) {
      const sandbox = await node.sandbox();
      return { ...details(properties), loginExtra, baseUrl: sandbox.url, apiKey: sandbox.apiKey };
    }
    if (url === '') throw missing('base URL', 'the address of the service, or the word sandbox');
    if (apiKey === '') throw missing('API key', 'the key that came by e-mail from the service');
    return { ...details(properties), loginExtra, baseUrl: url, apiKey };
  };

  node.on('close', (_removed: boolean, done: () => void) => {
    host.close().then(done, done);
  });
}

/** `rvmSandbox` of settings.js. What cannot be read as a permission forbids: in production a slip must not open it. */
function placementOf(setting: unknown): Placement {
  if (setting === undefined || setting === true) return {};
  return typeof setting === 'object' && setting !== null && !Array.isArray(setting) ? setting : false;
}

function details(properties: Properties): Omit<CloudConnection, 'baseUrl' | 'apiKey' | 'loginExtra'> {
  return {
    versionLow: textOf(properties, 'versionLow', '1'),
    versionHigh: textOf(properties, 'versionHigh', '9'),
    timeoutMs: numberOf(properties, 'timeout', 10, 0.1) * 1000,
    deviceRefreshMs: numberOf(properties, 'deviceRefresh', 300) * 1000,
    trustedOrigins: listOf(properties, 'trustedOrigins'),
    loginUserField: textOf(properties, 'loginUserField', 'username'),
    loginPasswordField: textOf(properties, 'loginPasswordField', 'password'),
    appendZ: flagOf(properties, 'appendZ'),
    userAgent: userAgent(),
  };
}

function missing(what: string, cure: string): RvmError {
  return new RvmError('CONFIG_MISSING', `The cloud has no ${what}: enter ${cure}.`);
}

function sandboxForbidden(): RvmError {
  return new RvmError(
    'CONFIG_MISSING',
    'The sandbox is forbidden by rvmSandbox in settings.js: enter the base URL and API key of the service in the cloud node.',
  );
}

/** The text is a secret: it appears in no error. */
function parseLoginExtra(text: string | undefined): Record<string, unknown> {
  if (text === undefined || text.trim() === '') return {};
  const value = parseJson(text);
  if (value !== null && typeof value === 'object' && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new RvmError(
    'BAD_INPUT',
    'The further login fields of the cloud are not a JSON object such as {"siteId":"1"}: correct them.',
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export = (RED: NodeAPI): void => {
  registerNode<CloudNode, NodeDef>(RED, 'rvm-cloud', (node, config) => build(RED, node, config), {
    apiKey: { type: 'password' },
    loginExtra: { type: 'password' },
  });
};
