import type { Faults, Lateness } from './faults';
import type { Grant, Target } from './grants';
import type { EffectiveOptions } from './options';
import type { Peer } from './peer';
import { Player } from './media/player';
import { PAYLOAD_TYPES } from './media/sdp';
import type { RtspRequest } from './protocol/request-parser';
import type { RtspResponse } from './protocol/response';
import { RtspSession } from './session';
import type { Sessions } from './sessions';
import { StreamTrouble } from './media/stream-trouble';
import type { Studio } from './studio';
import { LiveTimeline, RecordedTimeline, type Timeline } from './media/timeline';
import { Track } from './media/track';
import { TRACKS } from './media/tracks';
import { chooseTransport, type TransportChoice } from './protocol/transport-header';
import { InterleavedTransport, type MediaTransport } from './media/transport';
import { UdpTransport } from './media/udp-transport';
import { FRAMES_PER_SECOND } from '../scene/frame-rate';

/** Answers SETUP: a new session, a further track of one, or another transport for one that is not playing. */
export class Setup {
  readonly #options: EffectiveOptions;
  readonly #sessions: Sessions;
  readonly #faults: Faults;
  readonly #studio: Studio;

  constructor(options: EffectiveOptions, sessions: Sessions, faults: Faults, studio: Studio) {
    this.#options = options;
    this.#sessions = sessions;
    this.#faults = faults;
    this.#studio = studio;
  }

  async answer(
    request: RtspRequest,
    peer: Peer,
    target: Target,
    present: RtspSession | undefined,
  ): Promise<RtspResponse> {
    const { grant } = target;
    const choice = chooseTransport(request.headers.get('transport') ?? '', this.#options.transports);
    if (choice === undefined) return { status: 461 };
    if (present?.playing === true) return { status: 455 };
    if (present === undefined && !this.#sessions.hasRoomFor(grant.owner)) return { status: 503 };
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

  /** True where a recording is late and not found until it is there. */
  isMissing(grant: Grant): boolean {
    const late = this.#lateness(grant);
    return late?.way === 'not-found' && this.#isTooEarly(grant, late);
  }

  async #open(grant: Grant): Promise<RtspSession> {
    const timeline = this.#timelineOf(grant);
    const player = new Player({
      programme: await this.#studio.programme(grant),
      trouble: new StreamTrouble(this.#faults.forStream(grant.cameraId)),
      pace: this.#options.pace,
      wallClock: (picture) => timeline.wallClock(picture),
    });
    const session = new RtspSession(grant, timeline, player, this.#options.steady);
    this.#sessions.add(session);
    return session;
  }

  #giveUp(session: RtspSession): RtspResponse {
    session.end();
    return { status: 503 };
  }

  #timelineOf(grant: Grant): Timeline {
    const { now, recordingSeconds } = this.#options;
    if (grant.start === undefined) return new LiveTimeline(now);
    return new RecordedTimeline(grant.start, recordingSeconds, now, () => this.#availableTo(grant));
  }

  /** Number of the picture from which on nothing is recorded yet. */
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
  session: RtspSession,
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
