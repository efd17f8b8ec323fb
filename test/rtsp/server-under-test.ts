import {
  RtspServer,
  type GrantRequest,
  type RtspFault,
  type RtspServerOptions,
} from '../../sandbox/rtsp/server';
import {
  receivePictures,
  RtspPlayer,
  TestRtspConnection,
  type Reception,
  type RtspAnswer,
} from '../support/rtsp/rtsp-client';

/** Epoch milliseconds at which the bit bar of the recording shows 42. */
export const SECOND_42 = 1_760_000_042_000;

/** Of a server: what differs from the usual, and a fault that it has from the start. */
type Setting = Partial<RtspServerOptions> & { fault?: RtspFault };

/** An RTSP server of a test, with clocks that the test sets, and the connections that the test opened to it. */
export class ServerUnderTest {
  now = SECOND_42;
  /** Milliseconds by which signs of life are timed: they pass only when a test says so. */
  steady = 0;
  readonly #closing: (() => Promise<void> | void)[] = [];
  #server: RtspServer | undefined;

  /** The last one that was started. */
  get server(): RtspServer {
    if (this.#server === undefined) throw new Error('no server was started');
    return this.#server;
  }

  async start({ fault, ...options }: Setting = {}): Promise<RtspServer> {
    const server = await RtspServer.start({
      host: '127.0.0.1',
      port: 0,
      fallbackToFreePort: false,
      now: () => this.now,
      monotonic: () => this.steady,
      ...options,
    });
    if (fault !== undefined) server.setFault(fault);
    this.#server = server;
    this.#closing.push(() => server.close());
    return server;
  }

  /** What is to be closed after the test as well. */
  closing(close: () => Promise<void> | void): void {
    this.#closing.push(close);
  }

  async connect(url: string): Promise<TestRtspConnection> {
    const connection = await TestRtspConnection.open(url);
    this.#closing.push(() => connection.close());
    return connection;
  }

  async connected(setting: Setting = {}): Promise<TestRtspConnection> {
    return this.connect((await this.start(setting)).url);
  }

  async player(url: string): Promise<RtspPlayer> {
    const player = await RtspPlayer.open(url);
    this.#closing.push(() => player.close());
    return player;
  }

  /** A player that has a session and does not play yet. */
  async readyPlayer(url: string): Promise<RtspPlayer> {
    const player = await this.player(url);
    await player.describe();
    await player.setup();
    return player;
  }

  async granted(request: GrantRequest, setting: Setting = {}): Promise<string> {
    return (await this.start(setting)).grant(request);
  }

  async ready(request: GrantRequest, setting: Setting = {}): Promise<RtspPlayer> {
    return this.readyPlayer(await this.granted(request, setting));
  }

  async playing(request: GrantRequest, setting: Setting = {}): Promise<RtspPlayer> {
    const player = await this.ready(request, setting);
    await player.play();
    return player;
  }

  async receive(
    pictures: number,
    request: GrantRequest,
    { range, ...setting }: Setting & { range?: string } = {},
  ): Promise<Reception> {
    return receivePictures(await this.granted(request, setting), {
      pictures,
      ...(range !== undefined && { range }),
    });
  }

  /** One request on a connection of its own. */
  async ask(url: string, method: string, headers: Record<string, string> = {}): Promise<RtspAnswer> {
    const connection = await this.connect(url);
    const answer = await connection.request(method, url, headers);
    connection.close();
    return answer;
  }

  async answer(
    method: string,
    request: GrantRequest = live(),
    headers: Record<string, string> = {},
    setting: Setting = {},
  ): Promise<RtspAnswer> {
    return this.ask(await this.granted(request, setting), method, headers);
  }

  async stop(): Promise<void> {
    for (const close of this.#closing.splice(0).toReversed()) await close();
    this.now = SECOND_42;
    this.steady = 0;
  }
}

/** One whose servers and connections end with each test of a suite. */
export function serverOfEachTest(): ServerUnderTest {
  const under = new ServerUnderTest();
  afterEach(() => under.stop());
  return under;
}

/** Recorded video from the second that shows 42. */
export function recorded(more: Partial<GrantRequest> = {}): GrantRequest {
  return live({ start: SECOND_42, ...more });
}

export function live(more: Partial<GrantRequest> = {}): GrantRequest {
  return { cameraId: 'cam-1', cameraName: 'SANDBOX Gate 1', ...more };
}
