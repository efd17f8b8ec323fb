import type { Faults } from './faults';
import type { Fixture } from './media/fixture';
import type { Grant } from './grants';
import type { EffectiveOptions } from './options';
import type { Peer } from './peer';
import { Player } from './media/player';
import type { RtspRequest } from './protocol/request-parser';
import type { RtspResponse } from './protocol/response';
import { RtspSession } from './session';
import type { Sessions } from './sessions';
import { StreamTrouble } from './media/stream-trouble';
import { LiveTimeline, RecordedTimeline, type Timeline } from './media/timeline';
import { chooseTransport, type TransportChoice } from './protocol/transport-header';
import { InterleavedTransport, type MediaTransport } from './media/transport';
import { UdpTransport } from './media/udp-transport';

/** Answers SETUP: a new session, or another transport for one that is not playing. */
export class Setup {
  readonly #options: EffectiveOptions;
  readonly #sessions: Sessions;
  readonly #faults: Faults;

  constructor(options: EffectiveOptions, sessions: Sessions, faults: Faults) {
    this.#options = options;
    this.#sessions = sessions;
    this.#faults = faults;
  }

  async answer(
    request: RtspRequest,
    peer: Peer,
    grant: Grant,
    present: RtspSession | undefined,
    fixture: Fixture,
  ): Promise<RtspResponse> {
    const choice = chooseTransport(request.headers.get('transport') ?? '', this.#options.transports);
    if (choice === undefined) return { status: 461 };
    if (present?.playing === true) return { status: 455 };
    if (present === undefined && !this.#sessions.hasRoomFor(grant.owner)) return { status: 503 };
    const timeline = this.#timelineOf(grant);
    const session = present ?? this.#open(grant, timeline);
    const transport = await openTransport(choice, session, peer, this.#options.host).catch(() => undefined);
    if (transport === undefined) return this.#giveUp(session);
    const player = this.#equip(session, transport, timeline, fixture);
    const ssrc = player.ssrc.toString(16).toUpperCase().padStart(8, '0');
    const headers = {
      Session: `${session.id};timeout=${this.#options.sessionTimeoutSeconds}`,
      Transport: `${transport.header};ssrc=${ssrc};mode="PLAY"`,
    };
    return { status: 200, headers };
  }

  #open(grant: Grant, timeline: Timeline): RtspSession {
    const session = new RtspSession(grant, timeline, this.#options.steady);
    this.#sessions.add(session);
    return session;
  }

  #giveUp(session: RtspSession): RtspResponse {
    session.end();
    return { status: 503 };
  }

  #timelineOf({ start }: Grant): Timeline {
    const { now, recordingSeconds } = this.#options;
    return start === undefined ? new LiveTimeline(now) : new RecordedTimeline(start, recordingSeconds, now);
  }

  #equip(session: RtspSession, transport: MediaTransport, timeline: Timeline, fixture: Fixture): Player {
    const trouble = new StreamTrouble(this.#faults.forStream(session.grant.cameraId));
    const { pace } = this.#options;
    const wallClock = (picture: number): number => timeline.wallClock(picture);
    const player = new Player({ fixture, transport, trouble, pace, wallClock });
    session.equip({ transport, player });
    return player;
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
