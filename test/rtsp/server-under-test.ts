import { RtspServer, type GrantRequest, type RtspServerOptions } from '../../sandbox/rtsp/server';
import { TestRtspConnection, type RtspAnswer, RtspPlayer } from '../support/rtsp/rtsp-client';

/** Epoch milliseconds at which the bit bar of the recording shows 42. */
export const SECOND_42 = 1_760_000_042_000;

/** An RTSP server of a test, with clocks that the test sets, and the connections that the test opened to it. */
export class ServerUnderTest {
  now = SECOND_42;
  /** Milliseconds by which signs of life are timed: they pass only when a test says so. */
  steady = 0;
  readonly #closing: (() => Promise<void> | void)[] = [];

  async start(options: Partial<RtspServerOptions> = {}): Promise<RtspServer> {
    const server = await RtspServer.start({
      host: '127.0.0.1',
      port: 0,
      fallbackToFreePort: false,
      now: () => this.now,
      steady: () => this.steady,
      ...options,
    });
    this.#closing.push(() => server.close());
    return server;
  }

  /** A raw connection to a URL. */
  async connect(url: string): Promise<TestRtspConnection> {
    const connection = await TestRtspConnection.open(url);
    this.#closing.push(() => connection.close());
    return connection;
  }

  /** A player of a URL, not yet set up. */
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

  /** One request on a connection of its own. */
  async ask(url: string, method: string, headers: Record<string, string> = {}): Promise<RtspAnswer> {
    const connection = await this.connect(url);
    const answer = await connection.request(method, url, headers);
    connection.close();
    return answer;
  }

  /** Closes everything; for `afterEach`. */
  async stop(): Promise<void> {
    for (const close of this.#closing.splice(0).toReversed()) await close();
    this.now = SECOND_42;
    this.steady = 0;
  }
}

/** Recorded video from the second that shows 42. */
export function recorded(more: Partial<GrantRequest> = {}): GrantRequest {
  return { cameraId: 'cam-1', cameraName: 'SANDBOX Gate 1', start: SECOND_42, ...more };
}

/** Live video of the same camera. */
export function live(more: Partial<GrantRequest> = {}): GrantRequest {
  return { cameraId: 'cam-1', cameraName: 'SANDBOX Gate 1', ...more };
}
