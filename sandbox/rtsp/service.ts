import type { Socket } from 'node:net';
import { FRAMES_PER_SECOND } from '../scene/packs';
import { emptyGate, type Scenes } from '../scene/scenes';
import { Authenticator } from './authentication';
import { type AnswerFault, RelayFaultInjector, type Lateness } from './faults';
import { type Grant, type GrantRequest, Grants, type Target } from './grants';
import { MediaSender, StreamTrouble, Track } from './media/player';
import { describeSession, PAYLOAD_TYPES, Programme, type TrackName, TRACKS } from './media/programme';
import { LiveTimeline, RecordedTimeline, type Timeline } from './media/timeline';
import { InterleavedTransport, type MediaTransport, UdpTransport } from './media/transport';
import type { EffectiveOptions } from './options';
import { chooseTransport, type RtspRequest, type RtspResponse, type TransportChoice } from './protocol';
import { type PlayResult, RtspServerSession, RtspServerSessions } from './session';

/** The connection of a request, as the service uses it. */
export interface Peer {
  readonly socket: Socket;
  /** Ties a session to the connection: interleaved channels, sign of life, end. */
  carry(session: RtspServerSession, channels: readonly [number, number]): void;
  /** A free pair of interleaved channels, the wanted one if possible. */
  freeChannels(wanted?: readonly [number, number]): readonly [number, number];
}

const TRACK_AT_END = new RegExp(`(?:/(?:${Object.keys(TRACKS).join('|')}))?/?$`);

/**
 * URL of a session as the player addressed it, without credentials, track and trailing slash. The host stays as the player sent
 * it, because the connection may come through a forwarded port.
 */
function sessionUrl(uri: string): string {
  const url = new URL(uri);
  url.username = '';
  url.password = '';
  url.pathname = url.pathname.replace(TRACK_AT_END, '');
  return url.href.replace(/\/$/, '');
}

/** URL of a track of a session; a query stays at the end. */
function trackUrl(uri: string, track: TrackName): string {
  const url = new URL(sessionUrl(uri));
  url.pathname = `${url.pathname}/${track}`;
  return url.href;
}

/** Creates the programme of a camera from the scenes. */
class ProgrammeFactory {
  readonly #scenes: Scenes;

  constructor(scenes: Scenes) {
    this.#scenes = scenes;
  }

  async programme({ cameraName, view = emptyGate(cameraName) }: Grant): Promise<Programme> {
    const sound = view.sound ? await this.#scenes.sound() : undefined;
    return new Programme(await this.#scenes.footage(view.scene), sound, view);
  }
}

/** Answers SETUP: opens a session, adds a track, or replaces the transport of an idle session. */
class Setup {
  readonly #options: EffectiveOptions;
  readonly #sessions: RtspServerSessions;
  readonly #faults: RelayFaultInjector;
  readonly #studio: ProgrammeFactory;

  constructor(
    options: EffectiveOptions,
    sessions: RtspServerSessions,
    faults: RelayFaultInjector,
    studio: ProgrammeFactory,
  ) {
    this.#options = options;
    this.#sessions = sessions;
    this.#faults = faults;
    this.#studio = studio;
  }

  async answer(
    request: RtspRequest,
    peer: Peer,
    target: Target,
    present: RtspServerSession | undefined,
  ): Promise<RtspResponse> {
    const { grant } = target;
    const choice = chooseTransport(request.headers.get('transport') ?? '', this.#options.transports);
    if (choice === undefined) return { status: 461 };
    if (present?.playing === true) return { status: 455 };
    if (present === undefined && !this.#sessions.hasCapacityFor(grant.owner)) return { status: 503 };
    const kind = TRACKS[target.track ?? 'track1'];
    if (kind === 'sound' && grant.view?.sound !== true) return { status: 404 };
    const session = present ?? (await this.#open(grant));
    const transport = await openTransport(choice, session, peer, this.#options.host).catch(() => undefined);
    if (transport === undefined) return this.#giveUp(session);
    const track = new Track(transport, PAYLOAD_TYPES[kind]);
    session.equip(kind, track);
    const ssrc = track.packets.ssrc.toString(16).toUpperCase().padStart(8, '0');
    const headers = {
      Session: `${session.id};timeout=${this.#options.sessionTimeoutSeconds}`,
      Transport: `${transport.header};ssrc=${ssrc};mode="PLAY"`,
    };
    return { status: 200, headers };
  }

  /** True while a late recording is to be answered with 404. */
  isMissing(grant: Grant): boolean {
    const late = this.#lateness(grant);
    return late?.way === 'not-found' && this.#isTooEarly(grant, late);
  }

  async #open(grant: Grant): Promise<RtspServerSession> {
    const timeline = this.#timelineOf(grant);
    const player = new MediaSender({
      programme: await this.#studio.programme(grant),
      trouble: new StreamTrouble(this.#faults.forStream(grant.cameraId)),
      pace: this.#options.pace,
      wallClock: (picture) => timeline.wallClock(picture),
    });
    const session = new RtspServerSession(grant, timeline, player, this.#options.monotonic);
    this.#sessions.add(session);
    return session;
  }

  #giveUp(session: RtspServerSession): RtspResponse {
    session.end();
    return { status: 503 };
  }

  #timelineOf(grant: Grant): Timeline {
    const { now, recordingSeconds } = this.#options;
    if (grant.start === undefined) return new LiveTimeline(now);
    return new RecordedTimeline(grant.start, recordingSeconds, now, () => this.#availableTo(grant));
  }

  /** Number of the first picture that is not recorded yet. */
  #availableTo(grant: Grant): number {
    const late = this.#lateness(grant);
    if (late === undefined) return Infinity;
    if (late.way !== 'short') return this.#isTooEarly(grant, late) ? -Infinity : Infinity;
    return Math.floor((this.#options.now() / 1000 - late.seconds) * FRAMES_PER_SECOND);
  }

  #isTooEarly({ start = 0 }: Grant, { seconds }: Lateness): boolean {
    return start > this.#options.now() - seconds * 1000;
  }

  #lateness({ cameraId, start, late }: Grant): Lateness | undefined {
    if (start === undefined) return undefined;
    return this.#faults.lateness(cameraId) ?? late;
  }
}

async function openTransport(
  choice: TransportChoice,
  session: RtspServerSession,
  peer: Peer,
  host: string,
): Promise<MediaTransport> {
  const { socket } = peer;
  if (choice.kind === 'udp') {
    const address = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
    return UdpTransport.open(host, { address, ports: choice.clientPorts }, () => session.touch());
  }
  const channels = peer.freeChannels(choice.channels);
  peer.carry(session, channels);
  return new InterleavedTransport(socket, channels);
}

const PUBLIC_METHODS = ['OPTIONS', 'DESCRIBE', 'SETUP', 'PLAY', 'PAUSE', 'GET_PARAMETER', 'TEARDOWN'];
const ALLOW = { Allow: PUBLIC_METHODS.join(', ') };
const SERVED_METHODS = [...PUBLIC_METHODS, 'SET_PARAMETER'];
const REFUSED_METHODS = ['ANNOUNCE', 'RECORD', 'REDIRECT'];
const OVERSIZE = 2 * 1024 * 1024;

/** An answer, and the faults that affect it. */
export interface Reply {
  response: RtspResponse;
  faults: readonly AnswerFault[];
}

interface Context {
  request: RtspRequest;
  peer: Peer;
  target: Target;
  session: RtspServerSession | undefined;
}

/** The methods of RTSP 1.0 (RFC 2326, section 10) for the cameras of the sandbox. */
export class RtspService {
  readonly grants: Grants;
  readonly faults = new RelayFaultInjector();
  readonly sessions: RtspServerSessions;
  readonly #options: EffectiveOptions;
  readonly #urlOf: (grant: Grant) => string;
  readonly #authenticator: Authenticator | undefined;
  readonly #setup: Setup;
  readonly #studio: ProgrammeFactory;

  /** `urlOf` makes the URL of a grant. */
  constructor(options: EffectiveOptions, urlOf: (grant: Grant) => string) {
    const { now, uses, tokenPlace, urlLifetimeSeconds: lifetimeSeconds, authentication } = options;
    this.#options = options;
    this.#urlOf = urlOf;
    this.grants = new Grants({ now, uses, tokenPlace, lifetimeSeconds });
    this.sessions = new RtspServerSessions(options.maxSessions, options.sessionTimeoutSeconds);
    this.#authenticator = authentication && new Authenticator(authentication, now);
    this.#studio = new ProgrammeFactory(options.scenes);
    this.#setup = new Setup(options, this.sessions, this.faults, this.#studio);
  }

  grant(request: GrantRequest): string {
    return this.#urlOf(this.grants.add(request));
  }

  async answer(request: RtspRequest, peer: Peer): Promise<Reply> {
    const refusal = refuseForm(request);
    if (refusal !== undefined) return { response: refusal, faults: [] };
    const session = this.#sessionOf(request);
    session?.touch();
    const target = this.grants.find(request.uri);
    const response = this.#admit(request, target, session);
    if (response !== undefined && request.method !== 'OPTIONS') return { response, faults: [] };
    const faults = this.#faultsFor(request.method, target?.grant);
    const instead = this.#insteadOfAnswer(faults, target?.grant);
    return { response: instead ?? response ?? (await this.#serve(request, peer, target, session)), faults };
  }

  // The refusal of a request, independent of its method; the answer to OPTIONS needs no token.
  #admit(
    request: RtspRequest,
    target: Target | undefined,
    session: RtspServerSession | undefined,
  ): RtspResponse | undefined {
    if (request.method === 'OPTIONS') return optionsAnswer(session);
    if (target === undefined) return { status: 404 };
    const challenge = this.#authenticator?.challenge({
      method: request.method,
      authorization: request.headers.get('authorization'),
    });
    if (challenge !== undefined) return { status: 401, headers: { 'WWW-Authenticate': challenge } };
    const wantsSession = request.headers.has('session');
    if (wantsSession && (session === undefined || session.grant !== target.grant)) return { status: 454 };
    if (session !== undefined && request.method !== 'PLAY') return undefined;
    return this.grants.admits(target.grant, session?.id) ? undefined : { status: 403 };
  }

  #faultsFor(method: string, grant: Grant | undefined): AnswerFault[] {
    const redirected = grant?.redirected ?? false;
    return this.faults.forAnswer(method, grant?.cameraId, { redirected });
  }

  #insteadOfAnswer(faults: readonly AnswerFault[], grant: Grant | undefined): RtspResponse | undefined {
    for (const fault of faults) {
      if (fault.kind === 'status') return statusAnswer(fault.status);
      if (fault.kind === 'redirect' && grant !== undefined)
        return { status: 302, headers: { Location: this.#location(fault.to, grant) } };
    }
    return undefined;
  }

  #location(to: string, grant: Grant): string {
    if (to === 'loop') return this.#urlOf(grant);
    return to === 'new' ? this.#urlOf(this.grants.add(grant, true)) : to;
  }

  async #serve(
    request: RtspRequest,
    peer: Peer,
    target: Target | undefined,
    session: RtspServerSession | undefined,
  ): Promise<RtspResponse> {
    if (target === undefined) return { status: 404 };
    const context: Context = { request, peer, target, session };
    switch (request.method) {
      case 'DESCRIBE':
        return this.#describe(context);
      case 'SETUP':
        return this.#setup.answer(request, peer, target, session);
      case 'PLAY':
        return this.#play(context);
      case 'PAUSE':
        return session?.pause() === true ? answerIn(session) : { status: 455, headers: ALLOW };
      case 'TEARDOWN':
        return teardown(session);
      default:
        return parameters(request, session);
    }
  }

  async #describe({ request, target: { grant } }: Context): Promise<RtspResponse> {
    if (!acceptsSdp(request.headers.get('accept'))) return { status: 406 };
    if (this.#setup.isMissing(grant)) return { status: 404 };
    const { trackControl, recordingSeconds, host } = this.#options;
    const description = describeSession({
      programme: await this.#studio.programme(grant),
      title: grant.cameraName,
      address: host,
      trackControl: (track) => (trackControl === 'relative' ? track : trackUrl(request.uri, track)),
      parameterSets: !this.faults.inDescription('no-parameter-sets', grant.cameraId),
      ...(grant.start === undefined ? {} : { length: recordingSeconds }),
    });
    const oversize = this.faults.inDescription('oversize-sdp', grant.cameraId);
    const body = oversize ? `${description}${'a=x-sandbox:oversize\r\n'.repeat(OVERSIZE / 22)}` : description;
    const headers = { 'Content-Base': `${sessionUrl(request.uri)}/`, 'Content-Type': 'application/sdp' };
    return { status: 200, headers, body };
  }

  #play({ request, session }: Context): RtspResponse {
    if (session === undefined) return { status: 455, headers: ALLOW };
    const result = session.prepare(request.headers.get('range'));
    if (result === 455) return { status: 455, headers: ALLOW };
    if (typeof result === 'number') return { status: result, headers: { Session: session.id } };
    session.grant.sessions.add(session.id);
    const { range, start } = result;
    if (start === undefined) return answerIn(session, { Range: range });
    const response = answerIn(session, { Range: range, 'RTP-Info': rtpInfo(request.uri, start) });
    return { ...response, afterwards: () => session.start() };
  }

  #sessionOf(request: RtspRequest): RtspServerSession | undefined {
    const [id = ''] = (request.headers.get('session') ?? '').split(';');
    return this.sessions.find(id.trim());
  }
}

/** Refusals that depend only on the form of the request. */
function refuseForm({ version, method, headers }: RtspRequest): RtspResponse | undefined {
  if (version !== 'RTSP/1.0') return { status: 505 };
  if (!/^\d{1,10}$/.test(headers.get('cseq') ?? '')) return { status: 400 };
  if (REFUSED_METHODS.includes(method)) return { status: 405, headers: ALLOW };
  if (!SERVED_METHODS.includes(method)) return { status: 501, headers: { Public: ALLOW.Allow } };
  const required = headers.get('require') ?? headers.get('proxy-require');
  return required === undefined ? undefined : { status: 551, headers: { Unsupported: required } };
}

/** Sequence number and RTP timestamp of the first packet of each track (RFC 2326, section 12.33). */
function rtpInfo(uri: string, { video, sound }: NonNullable<PlayResult['start']>): string {
  const points = [
    ['track1', video],
    ['track2', sound],
  ] as const;
  const entries = points.map(([track, point]) =>
    point === undefined ? '' : `url=${trackUrl(uri, track)};seq=${point.sequence};rtptime=${point.timestamp}`,
  );
  return entries.filter((entry) => entry !== '').join(',');
}

function optionsAnswer(session: RtspServerSession | undefined): RtspResponse {
  const headers = { Public: PUBLIC_METHODS.join(', ') };
  return session === undefined ? { status: 200, headers } : answerIn(session, headers);
}

function statusAnswer(status: number): RtspResponse {
  return status === 401 ? { status, headers: { 'WWW-Authenticate': 'Basic realm="SANDBOX"' } } : { status };
}

function teardown(session: RtspServerSession | undefined): RtspResponse {
  if (session === undefined) return { status: 454 };
  session.end();
  return answerIn(session);
}

// GET_PARAMETER and SET_PARAMETER without a body are signs of life; there are no parameters.
function parameters(request: RtspRequest, session: RtspServerSession | undefined): RtspResponse {
  if (request.body.length > 0) return { status: 451 };
  return session === undefined ? { status: 200 } : answerIn(session);
}

function answerIn(session: RtspServerSession, headers: Readonly<Record<string, string>> = {}): RtspResponse {
  return { status: 200, headers: { Session: session.id, ...headers } };
}

function acceptsSdp(accept = '*/*'): boolean {
  const types = accept.split(',').map((part) => (part.split(';')[0] ?? '').trim().toLowerCase());
  return types.some((type) => ['application/sdp', 'application/*', '*/*'].includes(type));
}
