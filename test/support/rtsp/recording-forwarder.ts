import {
  Agent,
  createServer,
  request,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** A request that came in whole and was passed on. */
export interface ForwardedRequest {
  method: string;
  /** Path with query. */
  path: string;
  body: string;
  /** What the server answered; undefined until it has. */
  status: number | undefined;
  /** The body of the answer to a POST. */
  answer: string;
}

/** Stands between a client and a server, passes everything on, and notes the requests and the cookies that are set. */
export class RecordingForwarder {
  readonly cookies: string[] = [];
  readonly requests: ForwardedRequest[] = [];
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(private readonly server: Server) {}

  static async start(target: string): Promise<RecordingForwarder> {
    const server = createServer();
    const forwarder = new RecordingForwarder(server);
    server.on('request', (req, res) => forwarder.#receive(new URL(target), req, res));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return forwarder;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
    this.#agent.destroy();
  }

  /** Only a request that has come to its end goes on: what was cut off on the way reaches the server not at all. */
  #receive(target: URL, req: IncomingMessage, res: ServerResponse): void {
    const chunks: Buffer[] = [];
    req.on('error', () => undefined);
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => this.#forward(target, req, Buffer.concat(chunks), res));
  }

  #forward(target: URL, req: IncomingMessage, body: Buffer, res: ServerResponse): void {
    const { hostname, port, host } = target;
    const { method = '', url = '' } = req;
    const noted: ForwardedRequest = {
      method,
      path: url,
      body: body.toString('utf8'),
      status: undefined,
      answer: '',
    };
    this.requests.push(noted);
    const onward = request(
      { hostname, port, path: url, method, headers: { ...req.headers, host }, agent: this.#agent },
      (answer) => {
        noted.status = answer.statusCode;
        if (method === 'POST') answer.on('data', (chunk: Buffer) => (noted.answer += chunk.toString('utf8')));
        this.#noteCookies(answer);
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
      },
    );
    onward.on('error', () => res.destroy());
    onward.end(body);
  }

  #noteCookies(answer: IncomingMessage): void {
    for (const cookie of answer.headers['set-cookie'] ?? []) {
      const value = /^[^=]*=([^;]*)/.exec(cookie)?.[1] ?? '';
      if (value !== '') this.cookies.push(value);
    }
  }
}
