import { type CancelToken, cancelTokenOf } from '../../concurrency/signals';
import { cancellable, withTimeout } from '../../concurrency/timers';
import { RvmError } from '../../error';
import type { TlsSettings } from '../../tls';
import type { RelayStream } from '../media';
import { type PlayingSession, type Redirected, openSession } from './handshake';
import { DEFAULT_LIMITS, type RelayFaults, STREAM_FAULTS, type StreamLimits } from './limits';
import {
  checkHost,
  connect,
  redirectedTo,
  type RelayRules,
  resolveRelay,
  type Target,
  targetOf,
} from './relay';
import { RtspClient } from './rtsp-client';
import { readDescription } from './sdp';
import { RtspStream } from './stream';

export type { StreamLimits } from './limits';
export type { RelayRules } from './relay';

export interface StreamOptions {
  /** `rtsp:` or `rtsps:`. The whole URL is a secret. */
  url: string;
  relays: RelayRules;
  /** TLS settings of the cloud, for `rtsps:`. Their `servername` is that of the service and does not apply to relays. */
  tls?: TlsSettings | undefined;
  /** Ends the stream with its reason, if that is an `RvmError`, else with CANCELLED. */
  signal: AbortSignal;
  limits?: Partial<StreamLimits>;
  /** Live video has no end: if the relay closes the connection, the stream fails. */
  isLive?: boolean;
}

/** Name of the relay in errors: its host may reveal who has the cameras. */
const NAME = 'the video relay';

/**
 * Opens an RTSP URL over TCP (RFC 2326, with interleaved data). Resolves once PLAY was accepted; the first
 * frame is a key frame. Redirects are followed as the rules allow. After a failure no connection stays open.
 * @throws RvmError VIDEO_FAILED where the relay refuses (`cause.status`), breaks off or sends unreadable
 *   data; NETWORK, TLS; TIMEOUT; UNTRUSTED_LINK where the rules forbid a relay; CONFIG_MISSING for unusable
 *   TLS settings; CANCELLED or the reason of the signal
 */
export async function openStream(options: StreamOptions): Promise<RelayStream> {
  const ending = cancelTokenOf(options.signal);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const opened = await openFirst({ options, limits, ending });
  return new RtspStream({ ...opened, limits, ending, isLive: options.isLive === true });
}

interface Opening {
  options: StreamOptions;
  limits: StreamLimits;
  ending: CancelToken;
}

interface Opened {
  session: RtspClient;
  playing: PlayingSession;
}

async function openFirst(opening: Opening): Promise<Opened> {
  const first = targetOf(opening.options.url);
  if (first === undefined) throw noAddress();
  let target = first;
  for (let redirects = 0; redirects <= opening.limits.redirects; redirects += 1) {
    checkHost(opening.options.relays, target, first);
    const outcome = await openOne(opening, target);
    if ('session' in outcome) return outcome;
    target = redirectedTo(outcome.location, target);
  }
  throw new RvmError(
    'VIDEO_FAILED',
    'The video relay sends from one address to the next without end; report it to the service.',
  );
}

async function openOne(opening: Opening, target: Target): Promise<Opened | Redirected> {
  const { limits, ending } = opening;
  const session = await clientAt(opening, target);
  try {
    const outcome = await cancellable(ending, openSession(session, target.url, limits));
    if (outcome.kind === 'playing') return { session, playing: outcome };
    await session.end(limits.farewellMs);
    return outcome;
  } catch (error) {
    await session.end(limits.farewellMs);
    throw error;
  }
}

async function clientAt({ options, limits, ending }: Opening, target: Target): Promise<RtspClient> {
  const { host, port, isSecure, login } = target;
  const addresses = await cancellable(
    ending,
    withTimeout(resolveRelay(target, options.relays), limits.connectMs),
  );
  if (addresses === undefined) throw nameTooSlow();
  const way = { host, port, isSecure, addresses, tls: options.tls, name: NAME, ms: limits.connectMs };
  const socket = await connect(way, ending);
  return new RtspClient(socket, limits, STREAM_FAULTS, login);
}

function noAddress(): RvmError {
  return new RvmError(
    'VIDEO_FAILED',
    'The address of the video is no RTSP URL that can be opened safely; report it to the service.',
  );
}

function nameTooSlow(): RvmError {
  return new RvmError(
    'TIMEOUT',
    'The name of the video relay was not resolved in time: check the DNS of this machine.',
  );
}

/** An RTSP server's description of a stream. */
interface StreamDescription {
  /** Codecs of the video, such as `H264`; empty where the description names none. */
  codecs: string[];
}

interface DescribeOptions {
  /** Milliseconds for the connection, and again for the answer. */
  timeoutMs: number;
  /** Called once the connection is established, encrypted for `rtsps:`. */
  onConnected?: () => void;
}

/** Errors of the station test, which reports the kind of answer: there is no video yet that could fail. */
const FAULTS: RelayFaults = {
  unreadable: noRtsp,
  brokenOff: noRtsp,
  unanswered: () =>
    new RvmError('TIMEOUT', 'The relay took the connection, but did not describe the video in time.'),
  refused: (status) =>
    new RvmError('HTTP_ERROR', `The relay answered ${status} to the request for the video.`, { status }),
};

/**
 * Requests the description of a stream from an RTSP server and nothing else: the URL stays valid for a
 * player.
 * @throws RvmError NETWORK, TLS or TIMEOUT where there is no connection; HTTP_ERROR with the status of a
 *   refusal; BAD_RESPONSE where the answer is not RTSP. No error contains the URL.
 */
export async function describe(url: string, options: DescribeOptions): Promise<StreamDescription> {
  const target = targetOf(url);
  if (target === undefined) throw new RvmError('BAD_RESPONSE', 'The address of the video is no RTSP URL.');
  const { host, port, isSecure, login } = target;
  const { timeoutMs, onConnected } = options;
  const socket = await connect({ host, port, isSecure, name: `${host}, port ${port}`, ms: timeoutMs });
  onConnected?.();
  const limits = { ...DEFAULT_LIMITS, answerMs: timeoutMs };
  const session = new RtspClient(socket, limits, FAULTS, login);
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
