import type { Node } from 'node-red';
import type { Sandbox } from '../../sandbox';

export type { StationCredentials } from '../../sandbox';

interface CloudCredentials {
  apiKey?: string;
  loginExtra?: string;
}

/** What the client of a Central Station needs to know of its cloud; times in milliseconds. */
export interface CloudConnection {
  baseUrl: string;
  apiKey: string;
  versionLow: string;
  versionHigh: string;
  timeoutMs: number;
  deviceRefreshMs: number;
  trustedOrigins: readonly string[];
  loginUserField: string;
  loginPasswordField: string;
  loginExtra: Readonly<Record<string, unknown>>;
  appendZ: boolean;
  userAgent: string;
}

export interface CloudNode extends Node<CloudCredentials> {
  isSandbox: boolean;
  /** A property or credential stands for an environment variable that is not set. */
  unsetVariable: string | undefined;
  /** @throws RvmError CONFIG_MISSING, BAD_INPUT; NETWORK where the sandbox cannot start. */
  connection(): Promise<CloudConnection>;
  /** @throws RvmError CONFIG_MISSING where the settings forbid it; NETWORK where it cannot start. */
  sandbox(): Promise<Sandbox>;
}
