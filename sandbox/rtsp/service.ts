import type { Socket } from 'node:net';
import { FRAMES_PER_SECOND } from '../scene/packs';
import { emptyGate } from '../scene/scenes';
import { Authenticator } from './authentication';
import { type AnswerFault, RelayFaultInjector, type Lateness } from './faults';
import { type Grant, type GrantRequest, Grants, type Target } from './grants';
import { MediaSender, StreamTrouble, Track } from './media/player';
import { describeSession, PAYLOAD_TYPES, Programme, type TrackName, TRACKS } from './media/programme';
import { LiveTimeline, RecordedTimeline, type Timeline } from './media/timeline';
import { InterleavedTransport, type MediaTransport, UdpTransport } from './media/transport';
import type { EffectiveOptions } from './options';
import {
  chooseTransport,
  PUBLIC_METHODS,
  type RtspRequest,
  type RtspResponse,
  type TransportChoice,
} from './protocol';
import { type PlayResult, RtspServerSession } from './session';

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

const ALLOW = { Allow: PUBLIC_METHODS.join(', ') };
const SERVED_METHODS: readonly string[] = [...PUBLIC_METHODS, 'SET_PARAMETER'];
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
  readonly faults = new RelayFaultInjector();
  readonly #grants: Grants;
  readonly #sessions = new Map<string, RtspServerSession>();
  #opened = 0;
  readonly #authenticator: Authenticator | undefined;

  /** @param base URL of the server, with the login where players need one */
  constructor(
    private readonly options: EffectiveOptions,
    base: string,
  ) {
    const { authentication, now } = options;
    this.#grants = new Grants(options, base);
    this.#authenticator = authentication && new Authenticator(authentication, now);
  }

  /** Current sessions. */
  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** Sessions since the start. */
  get openedCount(): number {
    return this.#opened;
  }

  /** Ends the sessions without a sign of life within the timeout. */
  endSilent(): void {
    const { sessionTimeoutSeconds } = this.options;
    for (const session of this.#sessions.values())
      if (session.silentFor(sessionTimeoutSeconds)) session.end();
  }

  endAll(): void {
    for (const session of this.#sessions.values()) session.end();
  }

  grant(request: GrantRequest): string {
    return this.#grants.urlOf(this.#grants.add(request));
  }

  async answer(request: RtspRequest, peer: Peer): Promise<Reply> {
    const refusal = refuseForm(request);
    if (refusal !== undefined) return { response: refusal, faults: [] };
    const session = this.#sessionOf(request);
    session?.touch();
    const target = this.#grants.find(request.uri);
    const response = this.#admit(request, target, session);
    if (response !== undefined && request.method !== 'OPTIONS') return { response, faults: [] };
    const grant = target?.grant;
    const faults = this.faults.forAnswer(request.method, grant?.cameraId, grant?.redirected === true);
    const instead = this.#insteadOfAnswer(faults, grant) ?? response;
    if (instead !== undefined || target === undefined)
      return { response: instead ?? { status: 404 }, faults };
    return { response: await this.#serve({ request, peer, target, session }), faults };
  }

  // The refusal of a request, independent of its method; the answer to OPTIONS needs no token.
  #admit(
    { method, headers }: RtspRequest,
    target: Target | undefined,
    session: RtspServerSession | undefined,
  ): RtspResponse | undefined {
    if (method === 'OPTIONS') return optionsAnswer(session);
    if (target === undefined) return { status: 404 };
    const challenge = this.#authenticator?.challenge(method, headers.get('authorization'));
    if (challenge !== undefined) return { status: 401, headers: { 'WWW-Authenticate': challenge } };
    const wantsSession = headers.has('session');
    if (wantsSession && (session === undefined || session.grant !== target.grant)) return { status: 454 };
    if (session !== undefined && method !== 'PLAY') return undefined;
    return this.#grants.admits(target.grant, session?.id) ? undefined : { status: 403 };
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
    if (to === 'loop') return this.#grants.urlOf(grant);
    return to === 'new' ? this.#grants.urlOf(this.#grants.add(grant, true)) : to;
  }

  async #serve(context: Context): Promise<RtspResponse> {
    const { request, session } = context;
    switch (request.method) {
      case 'DESCRIBE':
        return this.#describe(context);
      case 'SETUP':
        return this.#setup(context);
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
    if (this.#isMissing(grant)) return { status: 404 };
    const { trackControl, recordingSeconds, host } = this.options;
    const description = describeSession({
      programme: await this.#programme(grant),
      title: grant.cameraName,
      address: host,
      trackControl: (track) => (trackControl === 'relative' ? track : trackUrl(request.uri, track)),
      parameterSets: !this.faults.inDescription('no-parameter-sets', grant.cameraId),
      length: grant.start === undefined ? undefined : recordingSeconds,
    });
    const oversize = this.faults.inDescription('oversize-sdp', grant.cameraId);
    const body = oversize ? `${description}${'a=x-sandbox:oversize\r\n'.repeat(OVERSIZE / 22)}` : description;
    const headers = { 'Content-Base': `${sessionUrl(request.uri)}/`, 'Content-Type': 'application/sdp' };
    return { status: 200, headers, body };
  }

  /** Opens a session, adds a track, or replaces the transport of an idle session. */
  async #setup({ request, peer, target, session: present }: Context): Promise<RtspResponse> {
    const { host, transports, sessionTimeoutSeconds } = this.options;
    const { grant } = target;
    const choice = chooseTransport(request.headers.get('transport') ?? '', transports);
    if (choice === undefined) return { status: 461 };
    if (present?.playing === true) return { status: 455 };
    if (present === undefined && !this.#hasCapacityFor(grant.owner)) return { status: 503 };
    const kind = TRACKS[target.track ?? 'track1'];
    if (kind === 'sound' && grant.view?.sound !== true) return { status: 404 };
    const session = present ?? (await this.#open(grant));
    const transport = await openTransport(choice, session, peer, host).catch(() => undefined);
    if (transport === undefined) {
      session.end();
      return { status: 503 };
    }
    const track = new Track(transport, PAYLOAD_TYPES[kind]);
    session.equip(kind, track);
    const ssrc = track.packets.ssrc.toString(16).toUpperCase().padStart(8, '0');
    const headers = {
      Session: `${session.id};timeout=${sessionTimeoutSeconds}`,
      Transport: `${transport.header};ssrc=${ssrc};mode="PLAY"`,
    };
    return { status: 200, headers };
  }

  /** True if this owner may open one more session. */
  #hasCapacityFor(owner: string | undefined): boolean {
    const own = [...this.#sessions.values()].filter(({ grant }) => grant.owner === owner);
    return own.length < this.options.maxSessions;
  }

  async #open(grant: Grant): Promise<RtspServerSession> {
    const { pace, monotonic } = this.options;
    const timeline = this.#timelineOf(grant);
    const trouble = new StreamTrouble(this.faults.forStream(grant.cameraId));
    const player = new MediaSender(await this.#programme(grant), timeline, trouble, pace);
    const session = new RtspServerSession(grant, timeline, player, monotonic);
    this.#opened++;
    this.#sessions.set(session.id, session);
    session.whenEnded(() => this.#sessions.delete(session.id));
    return session;
  }

  async #programme({ cameraName, view = emptyGate(cameraName) }: Grant): Promise<Programme> {
    const { scenes } = this.options;
    const sound = view.sound ? await scenes.sound() : undefined;
    return new Programme(await scenes.footage(view.scene), sound, view);
  }

  #timelineOf(grant: Grant): Timeline {
    const { now, recordingSeconds } = this.options;
    if (grant.start === undefined) return new LiveTimeline(now);
    return new RecordedTimeline(grant.start, recordingSeconds, now, () => this.#availableTo(grant));
  }

  /** Number of the first picture that is not recorded yet. */
  #availableTo(grant: Grant): number {
    const late = this.#lateness(grant);
    if (late === undefined) return Infinity;
    if (late.way !== 'short') return this.#isTooEarly(grant, late) ? -Infinity : Infinity;
    return Math.floor((this.options.now() / 1000 - late.seconds) * FRAMES_PER_SECOND);
  }

  /** True while a late recording is to be answered with 404. */
  #isMissing(grant: Grant): boolean {
    const late = this.#lateness(grant);
    return late?.way === 'not-found' && this.#isTooEarly(grant, late);
  }

  #isTooEarly({ start = 0 }: Grant, { seconds }: Lateness): boolean {
    return start > this.options.now() - seconds * 1000;
  }

  #lateness({ cameraId, start, late }: Grant): Lateness | undefined {
    return start === undefined ? undefined : (this.faults.lateness(cameraId) ?? late);
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
    return this.#sessions.get(id.trim());
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
  const headers = { Public: ALLOW.Allow };
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
