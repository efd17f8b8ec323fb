import type { Node, NodeAPI } from 'node-red';
import type { ProxySettings } from '../../lib/cloud/http/proxy';
import type { StationClientOptions } from '../../lib/cloud/station-client';
import { RvmError } from '../../lib/error';
import { isRecord } from '../../lib/json/json';
import type { CloudVideo } from '../../lib/video/cloud-video';
import type { Sandbox, SandboxOptions } from '../../sandbox';
import { SANDBOX } from '../support/rules';
import {
  choiceOf,
  flagOf,
  listOf,
  numberOf,
  type Properties,
  textOf,
  type UnsetVariables,
  userAgent,
} from '../support/settings';
import { missingNode, tlsOf } from '../support/tls-node';

export type { Sandbox, SandboxOptions, StationCredentials, StationSettings } from '../../sandbox';

interface CloudCredentials {
  apiKey?: string;
  loginExtra?: string;
}

/** Settings of the cloud for the client of a Central Station. */
export type CloudConnection = Omit<StationClientOptions, 'username' | 'password'>;

export interface CloudNode extends Node<CloudCredentials> {
  isSandbox: boolean;
  /** True where the cloud is the sandbox and settings.js forbids that. */
  isForbidden: boolean;
  /** Milliseconds without a request before each of its stations sends a sign of life; 0 = never. */
  signOfLifeMs: number;
  /** Unset environment variables in properties and credentials. */
  unsetVariables: UnsetVariables | undefined;
  /** @throws RvmError CONFIG_MISSING, BAD_INPUT; NETWORK where the sandbox cannot listen. */
  connection(): Promise<CloudConnection>;
  /**
   * @throws RvmError CONFIG_MISSING where the settings forbid the sandbox, BAD_INPUT for an invalid option;
   *   NETWORK where it cannot listen.
   */
  sandbox(): Promise<Sandbox>;
  /**
   * Its video, created at first use.
   * @throws RvmError CONFIG_MISSING, BAD_INPUT, NETWORK as above, CANCELLED after close
   */
  video(): Promise<CloudVideo>;
  /** The running sandbox; unlike `sandbox` this does not start one. */
  runningSandbox(): Sandbox | undefined;
}

/** Addresses of the sandbox and its style of live video; `false` where the settings forbid the sandbox. */
type Placement = false | Pick<SandboxOptions, 'host' | 'port' | 'rtspPort' | 'liveStyle'>;

/** No TLS and no proxy, because the sandbox runs in this process. */
const DIRECT = { tls: undefined, proxy: { kind: 'none' } } as const;

/** Base URL of the service, or the word for the sandbox. */
export function baseUrlOf(properties: Properties): string {
  return textOf(properties, 'url', SANDBOX).trim();
}

/** Milliseconds without a request before a station sends a sign of life; 0 = never. */
export function signOfLifeMsOf(properties: Properties): number {
  return numberOf(properties, 'signOfLife', 60) * 1000;
}

/**
 * Connection settings of a real service.
 * @throws RvmError CONFIG_MISSING where a TLS or proxy node is missing, BAD_INPUT for an unknown style of
 *   live video
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

/**
 * Connection settings of the sandbox.
 * @throws RvmError BAD_INPUT as above
 */
export function sandboxConnection(
  properties: Properties,
  loginExtra: CloudConnection['loginExtra'],
  { url, apiKey }: Pick<Sandbox, 'url' | 'apiKey'>,
): CloudConnection {
  return { ...details(properties), ...DIRECT, loginExtra, baseUrl: url, apiKey };
}

/**
 * Reads `rvmSandbox` of settings.js. A value that cannot be read forbids the sandbox: in production a typing error must not
 * allow it.
 */
export function placementOf(setting: unknown): Placement {
  if (setting === undefined || setting === true) return {};
  if (!isRecord(setting)) return false;
  // These only: options of the node and options for tests do not belong in settings.js.
  const { host, port, rtspPort, liveStyle } = setting as Exclude<Placement, false>;
  return { host, port, rtspPort, liveStyle };
}

type Details = Omit<CloudConnection, 'baseUrl' | 'apiKey' | 'loginExtra' | 'tls' | 'proxy'>;

/** @throws RvmError BAD_INPUT for an unknown style of live video. */
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

/** The text is a secret, so no error may contain it. */
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

/** The core node `http proxy`. */
interface ProxyNode extends Node<{ username?: string; password?: string }> {
  url?: unknown;
  noproxy?: unknown;
}

/**
 * Settings of a proxy node; without one the proxy environment variables apply.
 * @throws RvmError CONFIG_MISSING where the node is missing
 */
function proxyOf(RED: NodeAPI, id: string): ProxySettings {
  if (id === '') return { kind: 'environment' };
  const node = RED.nodes.getNode(id) as ProxyNode | null | undefined;
  if (node?.type !== 'http proxy') throw missingNode('proxy', 'cloud');
  const { username, password } = node.credentials ?? {};
  return { kind: 'proxy', url: stringOf(node.url), username, password, except: textsOf(node.noproxy) };
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}
