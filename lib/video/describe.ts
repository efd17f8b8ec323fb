import { RvmError } from '../error';
import { Connection } from './rtsp/connection';
import { readDescription } from './rtsp/description/session-description';
import { DEFAULT_LIMITS } from './rtsp/limits';
import type { RelayFaults } from './rtsp/relay-faults';
import { connect } from './rtsp/relay/connect';
import { targetOf } from './rtsp/relay/target';
import { RtspSession } from './rtsp/session';

/** What an RTSP server tells of a stream. */
export interface StreamDescription {
  /** Of its video, such as `H264`; empty where the description names none. */
  codecs: string[];
}

export interface DescribeOptions {
  /** Milliseconds for the connection, and again for the answer. */
  timeoutMs: number;
  /** Told once the connection stands, encrypted where the URL is `rtsps:`. */
  onConnected?: () => void;
}

/** Whoever tests a station wants to know what kind of answer it was: there is no video yet that could fail. */
const FAULTS: RelayFaults = {
  unreadable: noRtsp,
  brokenOff: noRtsp,
  unanswered: () =>
    new RvmError('TIMEOUT', 'The relay took the connection, but did not describe the video in time.'),
  refused: (status) =>
    new RvmError('HTTP_ERROR', `The relay answered ${status} to the request for the video.`, { status }),
};

/**
 * Asks an RTSP server for the description of a stream, and for nothing else: the URL stays good for a player.
 * @throws RvmError NETWORK, TLS or TIMEOUT where there is no connection; HTTP_ERROR with the status of a refusal; BAD_RESPONSE
 *   for what is no RTSP. None of them has the URL in it.
 */
export async function describe(url: string, options: DescribeOptions): Promise<StreamDescription> {
  const target = targetOf(url);
  if (target === undefined) throw new RvmError('BAD_RESPONSE', 'The address of the video is no RTSP URL.');
  const { host, port, isSecure, login } = target;
  const { timeoutMs, onConnected } = options;
  const socket = await connect({ host, port, isSecure, name: `${host}, port ${port}`, ms: timeoutMs });
  onConnected?.();
  const limits = { ...DEFAULT_LIMITS, answerMs: timeoutMs };
  const session = new RtspSession(new Connection(socket, limits, FAULTS), login);
  try {
    const answer = await session.ask('DESCRIBE', target.url, { Accept: 'application/sdp' });
    if (answer.status !== 200) throw FAULTS.refused(answer.status);
    return { codecs: videoCodecsIn(answer.body) };
  } finally {
    await session.end(0);
  }
}

function videoCodecsIn(description: string): string[] {
  const { media } = readDescription(description, DEFAULT_LIMITS.media);
  const [video] = media.filter(({ kind }) => kind === 'video');
  return (video?.formats ?? []).map(({ encoding }) => encoding);
}

function noRtsp(): RvmError {
  return new RvmError('BAD_RESPONSE', 'The relay answered with something else than RTSP.');
}
