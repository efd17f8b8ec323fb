import { type Abort, abortOf } from '../../concurrency/signals';
import { unless, within } from '../../concurrency/timers';
import { RvmError } from '../../error';
import type { TlsSettings } from '../../tls';
import type { MediaStream } from '../media';
import { Connection } from './connection';
import { shakeHands, type Playing, type Redirected } from './handshake';
import { DEFAULT_LIMITS, type StreamLimits } from './limits';
import { STREAM_FAULTS } from './relay-faults';
import { checkHost, type RelayRules } from './relay-rules';
import { connect } from './relay/connect';
import { redirectedTo, targetOf, type Target } from './relay/target';
import { resolveRelay } from './relay/resolve';
import { RtspSession } from './session';
import { RtspStream } from './stream';

export type { StreamLimits } from './limits';
export type { RelayRules } from './relay-rules';

export interface StreamOptions {
  /** `rtsp:` or `rtsps:`. A secret as a whole. */
  url: string;
  relays: RelayRules;
  /** Of the cloud, for `rtsps`. Its `servername` is that of the service and counts for no relay. */
  tls?: TlsSettings | undefined;
  /** Ends it with the `RvmError` that is its reason, else with CANCELLED. */
  signal: AbortSignal;
  limits?: Partial<StreamLimits>;
  /** Seconds from the beginning of what the URL names. */
  range?: { start: number } | undefined;
  /** Live video has no end: a relay that closes the connection breaks it off. */
  isLive?: boolean;
}

/** What errors call it: its host may tell who has the cameras. */
const NAME = 'the video relay';

/**
 * Opens an RTSP URL over TCP (RFC 2326, with interleaved data). Resolves once PLAY was accepted; the first frame is a key frame.
 * Redirects are followed as the rules allow. Where it fails, nothing of it stays open.
 * @throws RvmError VIDEO_FAILED where the relay refuses (`cause.status`), breaks off or sends what cannot be read; NETWORK, TLS;
 *   TIMEOUT; UNTRUSTED_LINK where the rules forbid a relay; CONFIG_MISSING for unusable TLS settings; CANCELLED or the reason of the signal
 */
export async function openStream(options: StreamOptions): Promise<MediaStream> {
  const ending = abortOf(options.signal);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const opened = await openFirst({ options, limits, ending });
  return new RtspStream({ ...opened, limits, ending, isLive: options.isLive === true });
}

interface Opening {
  options: StreamOptions;
  limits: StreamLimits;
  ending: Abort;
}

interface Opened {
  session: RtspSession;
  playing: Playing;
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
  const { options, limits, ending } = opening;
  const session = await sessionAt(opening, target);
  try {
    const wanted = { url: target.url, range: options.range };
    const outcome = await unless(ending, shakeHands(session, wanted, limits));
    if (outcome.kind === 'playing') return { session, playing: outcome };
    await session.end(limits.farewellMs);
    return outcome;
  } catch (error) {
    await session.end(limits.farewellMs);
    throw error;
  }
}

async function sessionAt({ options, limits, ending }: Opening, target: Target): Promise<RtspSession> {
  const { host, port, isSecure, login } = target;
  const addresses = await unless(ending, within(resolveRelay(target, options.relays), limits.connectMs));
  if (addresses === undefined) throw nameTooSlow();
  const way = { host, port, isSecure, addresses, tls: options.tls, name: NAME, ms: limits.connectMs };
  const socket = await connect(way, ending);
  return new RtspSession(new Connection(socket, limits, STREAM_FAULTS), login);
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
