import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** What an instance got that was posted to it. */
export interface Posted {
  path: string;
  authorization: string | undefined;
  body: Buffer;
}

/** What it does with a message: answers with a status, ends the connection, or says nothing. */
export type Conduct = number | 'cuts' | 'is silent';

/** A server in the place of Node-RED behind a balancer, which is ready, or not, and conducts itself as it is told. */
export class BalancedInstance {
  readonly posted: Posted[] = [];
  /** Paths of the pages that somebody has asked for. */
  readonly pages: string[] = [];
  /** What it answers to those who ask for a page. */
  pageStatus = 200;
  isReady = true;
  conduct: Conduct = 200;
  /** How often it was asked whether it is ready. */
  checks = 0;
  readonly #server = http.createServer((req, res) => void this.#answer(req, res));

  static async start(): Promise<BalancedInstance> {
    const instance = new BalancedInstance();
    instance.#server.listen(0, '127.0.0.1');
    await once(instance.#server, 'listening');
    return instance;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
    if (req.method !== 'POST') {
      this.#show(req.url ?? '', res);
      return;
    }
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece as Buffer);
    const { authorization } = req.headers;
    this.posted.push({ path: req.url ?? '', authorization, body: Buffer.concat(pieces) });
    if (this.conduct === 'cuts') req.socket.destroy();
    else if (this.conduct !== 'is silent') res.writeHead(this.conduct).end('{"ok":true}');
  }

  #show(path: string, res: http.ServerResponse): void {
    if (path === '/remote-monitoring/ready') {
      this.checks += 1;
      res.writeHead(this.isReady ? 200 : 503).end('{}');
    } else {
      this.pages.push(path);
      res.writeHead(this.pageStatus).end('a page');
    }
  }
}
