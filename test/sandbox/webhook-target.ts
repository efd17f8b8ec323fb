import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { promisify } from 'node:util';
import { portOf } from '../support/network/servers';
import { eventually } from '../support/time/patience';
import { Json } from './service-client';

export interface Received {
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  message: Json;
}

type Reply = number | 'reset' | 'silent';

/** An endpoint of a provider: keeps what it gets and answers as told. */
export class WebhookTarget {
  readonly received: Received[] = [];
  /** What is answered; the last one stands for all later requests. */
  replies: Reply[] = [200];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const bytes = Buffer.concat(chunks);
        this.received.push({ headers: request.headers, bytes, message: new Json(JSON.parse(String(bytes))) });
        const reply = this.replies.length > 1 ? this.replies.shift() : this.replies[0];
        if (reply === 'reset') request.socket.resetAndDestroy();
        else if (reply !== 'silent') response.writeHead(reply ?? 200).end();
      });
    });
  }

  static async start(): Promise<WebhookTarget> {
    const target = new WebhookTarget();
    target.#server.listen(0, '127.0.0.1');
    await once(target.#server, 'listening');
    running.add(target);
    return target;
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}/hook`;
  }

  /** Those that are open. */
  connections(): Promise<number> {
    return promisify(this.#server.getConnections.bind(this.#server))();
  }

  /** Resolves with the first `count` messages. */
  async messages(count: number): Promise<Received[]> {
    await eventually(() => this.received.length >= count, `${count} messages`);
    return this.received.slice(0, count);
  }

  async message(index = 0): Promise<Received> {
    return (await this.messages(index + 1))[index] ?? assert.fail('no such message');
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

const running = new Set<WebhookTarget>();

export async function closeTargets(): Promise<void> {
  await Promise.all([...running].map((target) => target.close()));
  running.clear();
}
