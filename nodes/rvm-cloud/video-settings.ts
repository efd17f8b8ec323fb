import { RvmError } from '../../lib/error';
import { MOST_VIDEO_SESSIONS, VIDEO_SESSIONS } from '../../lib/limits';
import { flagOf, listOf, numberOf, type Properties } from '../support/settings';
import { isRelayHost } from '../support/rules';

/** What a cloud lets its video nodes do. */
export interface VideoSettings {
  /** RTSP sessions at a time; further ones wait. */
  sessions: number;
  /** Hosts that relays may have, and ends of their names; empty where those that the service names will do. */
  relayHosts: readonly string[];
  /** Relays may be on this machine, or in its network. */
  localRelays: boolean;
}

/** @throws RvmError BAD_INPUT for a host that is none: left out, it could leave a list that allows all. */
export function videoSettingsOf(properties: Properties): VideoSettings {
  const relayHosts = listOf(properties, 'relayHosts');
  if (!relayHosts.every(isRelayHost)) {
    throw new RvmError(
      'BAD_INPUT',
      'The video relays of the cloud are not names of hosts such as video.example.com, separated by commas: correct them.',
    );
  }
  const sessions = Math.trunc(numberOf(properties, 'videoSessions', VIDEO_SESSIONS, 1));
  return {
    sessions: Math.min(sessions, MOST_VIDEO_SESSIONS),
    relayHosts,
    localRelays: flagOf(properties, 'localRelays'),
  };
}
