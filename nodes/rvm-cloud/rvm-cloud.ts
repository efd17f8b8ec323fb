import type { NodeAPI, NodeDef } from 'node-red';
import { RvmError } from '../../lib/error';
import { isRecord } from '../../lib/json-record';
import { userAgent } from '../support/package-version';
import { registerNode } from '../support/register';
import {
  choiceOf,
  firstUnsetVariable,
  flagOf,
  listOf,
  numberOf,
  textOf,
  unsetVariableError,
  type Properties,
} from '../support/settings';
import type { CloudConnection, CloudNode, SandboxOptions } from './cloud-node';
import { proxyOf, tlsOf } from './reach';
import { SandboxHost } from './sandbox-host';

/** The word in `url` that stands for the built-in sandbox. */
const SANDBOX = 'sandbox';

/** Where the sandbox listens; `false` where the settings forbid it. */
type Placement = false | Pick<SandboxOptions, 'host' | 'port' | 'rtspPort'>;

/** The sandbox is in this process. */
const DIRECT = { tls: undefined, proxy: { kind: 'none' } } as const;

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
    ({ url: service, rtspUrl: video }) => node.log(RED._('rvm-cloud.log.sandboxStarted', { service, video })),
  );
  let warned = false;

  node.isSandbox = url === SANDBOX;
  node.isForbidden = node.isSandbox && placement === false;
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
      return { ...details(properties), ...DIRECT, loginExtra, baseUrl: sandbox.url, apiKey: sandbox.apiKey };
    }
    const tls = tlsOf(RED, textOf(properties, 'tls'));
    const proxy = proxyOf(RED, textOf(properties, 'proxy'));
    if (tls?.rejectUnauthorized === false && !warned) node.warn(RED._('rvm-cloud.log.notVerified'));
    warned ||= tls?.rejectUnauthorized === false;
    return { ...details(properties), tls, proxy, loginExtra, baseUrl: url, apiKey };
  };

  node.on('close', (_removed: boolean, done: () => void) => {
    host.close().then(done, done);
  });
}

/** `rvmSandbox` of settings.js. What cannot be read as a permission forbids: in production a slip must not open it. */
function placementOf(setting: unknown): Placement {
  if (setting === undefined || setting === true) return {};
  if (!isRecord(setting)) return false;
  // Nothing else: options of the node and those for tests are not for settings.js.
  const { host, port, rtspPort } = setting as Exclude<Placement, false>;
  return { host, port, rtspPort };
}

type Details = Omit<CloudConnection, 'baseUrl' | 'apiKey' | 'loginExtra' | 'tls' | 'proxy'>;

/** @throws RvmError BAD_INPUT for a style of live video that there is not. */
function details(properties: Properties): Details {
  return {
    versionLow: textOf(properties, 'versionLow', '1'),
    versionHigh: textOf(properties, 'versionHigh', '9'),
    timeoutMs: numberOf(properties, 'timeout', 10, 0.1) * 1000,
    deviceRefreshMs: numberOf(properties, 'deviceRefresh', 300) * 1000,
    trustedOrigins: listOf(properties, 'trustedOrigins'),
    loginUserField: textOf(properties, 'loginUserField'),
    loginPasswordField: textOf(properties, 'loginPasswordField'),
    appendZ: flagOf(properties, 'appendZ'),
    liveStyle: choiceOf(properties, 'liveStyle', ['omit', 'live']),
    relations: {
      details: textOf(properties, 'relDetails'),
      presets: textOf(properties, 'relPresets'),
      tours: textOf(properties, 'relTours'),
      home: textOf(properties, 'relHome'),
      snapshot: textOf(properties, 'relSnapshot'),
    },
    userAgent: userAgent(),
  };
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
  if (isRecord(value)) return value;
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
