import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { PATIENCE } from '../support/time/patience';
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
  readonly #waiting = new Set<() => void>();

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
        for (const wake of this.#waiting) wake();
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
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}/hook` : '';
  }

  /** Resolves with the first `count` messages. */
  async messages(count: number): Promise<Received[]> {
    const deadline = Date.now() + PATIENCE;
    while (this.received.length < count) {
      await this.#nextOrDeadline(deadline, count);
    }
    return this.received.slice(0, count);
  }

  async message(index = 0): Promise<Received> {
    const list = await this.messages(index + 1);
    const found = list[index];
    if (found === undefined) throw new Error('There is no such message.');
    return found;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #nextOrDeadline(deadline: number, count: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => finish(() => reject(new Error(`Only ${this.received.length} of ${count} messages came.`))),
        Math.max(0, deadline - Date.now()),
      );
      const wake = (): void => finish(resolve);
      const finish = (settle: () => void): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        settle();
      };
      this.#waiting.add(wake);
    });
  }
}

const running = new Set<WebhookTarget>();

export async function closeTargets(): Promise<void> {
  await Promise.all([...running].map((target) => target.close()));
  running.clear();
}
