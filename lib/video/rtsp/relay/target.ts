import { RvmError } from '../../../error';
import { loginOfUrl, type Login, relayOf } from '../../../text';

/** What an RTSP URL says, taken apart: the login stands in no request line. */
export interface Target {
  /** The URL without its login. */
  url: string;
  isSecure: boolean;
  /** Without the brackets of IPv6. */
  host: string;
  port: number;
  login: Login | undefined;
}

/** @returns undefined for what is no RTSP URL, or one that no player can safely open */
export function targetOf(text: string): Target | undefined {
  const relay = relayOf(text);
  if (relay === undefined) return undefined;
  const url = new URL(text);
  const login = loginOfUrl(url);
  url.username = '';
  url.password = '';
  return {
    url: url.href,
    isSecure: relay.scheme === 'rtsps',
    host: relay.host.replace(/^\[(.*)\]$/, '$1'),
    port: relay.port,
    login,
  };
}

/**
 * Where a redirect leads. The login goes on with it on the same host, unless it brings one of its own (RFC 2326, section 11.3).
 * @throws RvmError VIDEO_FAILED for what is no RTSP URL; UNTRUSTED_LINK where it would give up encryption
 */
export function redirectedTo(location: string, from: Target): Target {
  const target = targetOf(location);
  if (target === undefined) {
    throw new RvmError(
      'VIDEO_FAILED',
      'The video relay sends to an address that is no RTSP URL; report it to the service.',
    );
  }
  if (from.isSecure && !target.isSecure) {
    throw new RvmError(
      'UNTRUSTED_LINK',
      'The video relay sends from an encrypted connection to one in clear; report it to the service.',
    );
  }
  const isSameHost = target.host.toLowerCase() === from.host.toLowerCase();
  return { ...target, login: target.login ?? (isSameHost ? from.login : undefined) };
}
