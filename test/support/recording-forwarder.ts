import http from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** Stands between a client and a server, passes everything on, and notes the cookies that are set. */
export class RecordingForwarder {
  readonly cookies: string[] = [];

  private constructor(private readonly server: http.Server) {}

  static async start(target: string): Promise<RecordingForwarder> {
    const server = http.createServer();
    const forwarder = new RecordingForwarder(server);
    server.on('request', (req, res) => forwarder.#forward(new URL(target), req, res));
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
  }

  #forward(target: URL, req: http.IncomingMessage, res: http.ServerResponse): void {
    const { hostname, port, host } = target;
    const onward = http.request(
      { hostname, port, path: req.url, method: req.method, headers: { ...req.headers, host }, agent: false },
      (answer) => {
        for (const cookie of answer.headers['set-cookie'] ?? []) {
          const value = /^[^=]*=([^;]*)/.exec(cookie)?.[1] ?? '';
          if (value !== '') this.cookies.push(value);
        }
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
      },
    );
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  }
}
