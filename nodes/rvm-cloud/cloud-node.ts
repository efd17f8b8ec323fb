import type { Node } from 'node-red';
import type { StationClientOptions } from '../../lib/cloud/station-client';
import type { CloudVideo } from '../../lib/video/cloud-video';
import type { Sandbox } from '../../sandbox';
import type { UnsetVariables } from '../support/settings';

export type { Sandbox, SandboxOptions, StationCredentials, StationSettings } from '../../sandbox';

interface CloudCredentials {
  apiKey?: string;
  loginExtra?: string;
}

/** What the client of a Central Station needs to know of its cloud. */
export type CloudConnection = Omit<StationClientOptions, 'username' | 'password'>;

export interface CloudNode extends Node<CloudCredentials> {
  isSandbox: boolean;
  /** It is the sandbox, and settings.js forbids that. */
  isForbidden: boolean;
  /** Milliseconds without any request after which each of its stations is asked for a sign of life; 0 = never. */
  signOfLifeMs: number;
  /** What stands in properties and credentials for environment variables that are not set. */
  unsetVariables: UnsetVariables | undefined;
  /** @throws RvmError CONFIG_MISSING, BAD_INPUT; NETWORK where the sandbox cannot listen. */
  connection(): Promise<CloudConnection>;
  /** @throws RvmError CONFIG_MISSING where the settings forbid it, BAD_INPUT for an option; NETWORK where it cannot listen. */
  sandbox(): Promise<Sandbox>;
  /** Its video; made at first use. @throws RvmError CONFIG_MISSING, BAD_INPUT, NETWORK as above, CANCELLED after close */
  video(): Promise<CloudVideo>;
  /** The sandbox where it runs: unlike `sandbox` this starts none. */
  runningSandbox(): Sandbox | undefined;
}
