import { fork, type ChildProcess } from 'node:child_process';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The least that a receiver can do: it verifies, parses and answers, and keeps nothing. In a process of its own. */
export class BareServer {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
  ) {}

  static async start(phrase: string): Promise<BareServer> {
    const child = fork(__filename, [phrase], { execArgv: ['--import=tsx'] });
    const [port] = (await once(child, 'message')) as [number];
    return new BareServer(port, child);
  }

  async stop(): Promise<void> {
    this.child.kill();
    await once(this.child, 'exit');
  }
}

function serve(phrase: string): void {
  const server = createServer((req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => answer(req, res, Buffer.concat(pieces), phrase));
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

function answer(req: IncomingMessage, res: ServerResponse, body: Buffer, phrase: string): void {
  const expected = createHmac('sha256', phrase).update(body).digest();
  const [, text = ''] = (req.headers.authorization ?? '').split(' ');
  const given = Buffer.from(text, 'base64');
  const isGenuine = given.length === expected.length && timingSafeEqual(given, expected);
  if (isGenuine) JSON.parse(body.toString());
  res.writeHead(isGenuine ? 200 : 401, { 'Content-Length': 0 }).end();
}

if (require.main === module) serve(process.argv[2] ?? '');
