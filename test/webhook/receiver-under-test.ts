import http from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import type { Delivery, Inbox } from '../../lib/inbox/inbox';
import { Dispatcher, type DispatcherOptions } from '../../lib/webhook/dispatcher';
import { ignoreUpgrades } from '../../lib/webhook/ignored-upgrade';
import type { Endpoint } from '../../lib/webhook/endpoint';
import type { Problem } from '../../lib/webhook/problem';
import type { ReceivingStation } from '../../lib/webhook/station';
import { InlineInbox } from '../support/inline-inbox';
import { station } from './sample';

export const PATH = '/remote-monitoring/abc';

export interface Answer {
  /** 0 = the connection ended without an answer. */
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

export interface Post {
  body?: string | Uint8Array;
  headers?: Record<string, string | string[]>;
  path?: string;
  method?: string;
}

/** A dispatcher on a real server, with one endpoint, and what came out of it. */
export class ReceiverUnderTest {
  readonly deliveries: Delivery[] = [];
  readonly problems: Problem[] = [];
  readonly lines: string[] = [];
  stations: ReceivingStation[] | undefined = [station()];
  agentUsers: Record<string, string> = {};
  readonly dispatcher: Dispatcher;
  readonly endpoint: Endpoint;
  readonly #server: http.Server;
  readonly #sockets = new Set<net.Socket>();

  private constructor(options: DispatcherOptions, inbox: Inbox, changes: Partial<Endpoint>) {
    this.dispatcher = new Dispatcher({ log: (line) => this.lines.push(line), ...options });
    this.endpoint = {
      id: 'webhook-in',
      path: PATH,
      stations: () => this.stations,
      stationOfAgentUser: (id) => this.agentUsers[id],
      inbox,
      onProblem: (problem) => this.problems.push(problem),
      ...changes,
    };
    const consumption = inbox.consume({
      endpointId: this.endpoint.id,
      handledWhen: 'sent',
      redeliverAfter: 120_000,
      maxAttempts: 12,
      maxInFlight: 100,
      deliver: (delivery) => this.deliveries.push(delivery) > 0,
      onDead: () => undefined,
      onBlocked: () => undefined,
      onReadBack: () => undefined,
    });
    consumption.resume();
    this.#server = http.createServer((req, res) => {
      if (!this.dispatcher.handle(req, res)) res.writeHead(404).end('not ours');
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    ignoreUpgrades(this.#server, (target) => this.dispatcher.owns(target));
  }

  static async start(
    options: DispatcherOptions & { inbox?: Inbox; endpoint?: Partial<Endpoint>; absent?: boolean } = {},
  ): Promise<ReceiverUnderTest> {
    const { inbox = new InlineInbox(), endpoint = {}, absent = false, ...dispatcherOptions } = options;
    const receiver = new ReceiverUnderTest({ holdMs: 150, ...dispatcherOptions }, inbox, endpoint);
    if (!absent) receiver.dispatcher.add(receiver.endpoint);
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.closeConnections();
    this.dispatcher.close();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    await this.endpoint.inbox.close();
  }

  /** Posts over a connection of its own; status 0 where it is cut. */
  post(post: Post): Promise<Answer> {
    const { body = '', headers = {}, path = PATH, method = 'POST' } = post;
    return new Promise((resolve) => {
      const request = http.request({
        port: this.port,
        host: '127.0.0.1',
        path,
        method,
        headers,
        agent: false,
      });
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
      });
      request.on('error', () => resolve({ status: 0, headers: {}, text: '' }));
      request.end(body);
    });
  }

  /** Writes bytes by hand and reads until the server ends the connection, or `enough` says so. */
  async raw(pieces: readonly (string | Uint8Array)[], enough = /$^/): Promise<string> {
    const socket = net.connect(this.port, '127.0.0.1');
    socket.setNoDelay(true);
    let text = '';
    const done = new Promise<void>((resolve) => {
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        if (enough.test(text)) resolve();
      });
      socket.on('close', () => resolve());
      socket.on('error', () => resolve());
    });
    await once(socket, 'connect');
    for (const piece of pieces) await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
    await done;
    socket.destroy();
    return text;
  }

  /** Waits until a condition holds; fails after two seconds. */
  async until(condition: () => boolean, what: string): Promise<void> {
    for (let look = 0; look < 400; look++) {
      if (condition()) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`never came: ${what}`);
  }

  /** One further good message, to know that everything before it has been dealt with. */
  async delivered(count: number): Promise<void> {
    await this.until(() => this.deliveries.length >= count, `delivery ${count}`);
  }

  reasons(): (string | null)[] {
    return this.problems.map(({ reason }) => reason);
  }
}
