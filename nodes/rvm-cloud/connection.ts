import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { isRecord } from '../../lib/json/json';
import { userAgent, choiceOf, flagOf, listOf, numberOf, textOf, type Properties } from '../support/settings';
import { tlsOf } from '../support/tls-node';
import type { CloudConnection, Sandbox, SandboxOptions } from './cloud-node';
import { proxyOf } from './reach';
import { SANDBOX } from '../support/rules';

/** Where the sandbox listens, and how it gives live video; `false` where the settings forbid it. */
export type Placement = false | Pick<SandboxOptions, 'host' | 'port' | 'rtspPort' | 'liveStyle'>;

/** The sandbox is in this process. */
const DIRECT = { tls: undefined, proxy: { kind: 'none' } } as const;

/** The base URL of the service, or the word for the sandbox. */
export function baseUrlOf(properties: Properties): string {
  return textOf(properties, 'url', SANDBOX).trim();
}

/** Milliseconds without any other request after which a station is asked for a sign of life; 0 = never. */
export function signOfLifeMsOf(properties: Properties): number {
  return numberOf(properties, 'signOfLife', 60) * 1000;
}

/**
 * How the service is reached.
 * @throws RvmError CONFIG_MISSING where a TLS or proxy node is gone, BAD_INPUT for a style of live video that there is not
 */
export function serviceConnection(
  RED: NodeAPI,
  properties: Properties,
  credentials: Pick<CloudConnection, 'apiKey' | 'loginExtra'>,
): CloudConnection {
  const tls = tlsOf(RED, textOf(properties, 'tls'), 'cloud');
  const proxy = proxyOf(RED, textOf(properties, 'proxy'));
  return { ...details(properties), ...credentials, tls, proxy, baseUrl: baseUrlOf(properties) };
}

/** How the sandbox is reached. @throws RvmError BAD_INPUT as above */
export function sandboxConnection(
  properties: Properties,
  loginExtra: CloudConnection['loginExtra'],
  { url, apiKey }: Pick<Sandbox, 'url' | 'apiKey'>,
): CloudConnection {
  return { ...details(properties), ...DIRECT, loginExtra, baseUrl: url, apiKey };
}

/** `rvmSandbox` of settings.js. What cannot be read as a permission forbids: in production a slip must not open it. */
export function placementOf(setting: unknown): Placement {
  if (setting === undefined || setting === true) return {};
  if (!isRecord(setting)) return false;
  // Nothing else: options of the node and those for tests are not for settings.js.
  const { host, port, rtspPort, liveStyle } = setting as Exclude<Placement, false>;
  return { host, port, rtspPort, liveStyle };
}

type Details = Omit<CloudConnection, 'baseUrl' | 'apiKey' | 'loginExtra' | 'tls' | 'proxy'>;

/** @throws RvmError BAD_INPUT for a style of live video that there is not. */
function details(properties: Properties): Details {
  return {
    versionLow: textOf(properties, 'versionLow', '1'),
    versionHigh: textOf(properties, 'versionHigh', '9'),
    timeoutMs: numberOf(properties, 'timeout', 10, 0.1) * 1000,
    deviceRefreshMs: numberOf(properties, 'deviceRefresh', 300) * 1000,
    signOfLifeMs: signOfLifeMsOf(properties),
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
      gotoPreset: textOf(properties, 'relGotoPreset'),
      startTour: textOf(properties, 'relStartTour'),
      stopTour: textOf(properties, 'relStopTour'),
    },
    userAgent: userAgent(),
  };
}

export function sandboxForbidden(): RvmError {
  return new RvmError(
    'CONFIG_MISSING',
    'The sandbox is forbidden by rvmSandbox in settings.js: enter the base URL and API key of the service in the cloud node.',
  );
}

/** The text is a secret: it appears in no error. */
export function parseLoginExtra(text: string | undefined): Record<string, unknown> {
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
