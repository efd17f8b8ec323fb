import type { AddressInfo, Socket } from 'node:net';
import net from 'node:net';
import { once } from 'node:events';

/** Lets anybody in, and answers each question with one row of texts: as much of a PostgreSQL as a version shows. */
export class OldServer {
  readonly #sockets = new Set<Socket>();
  readonly #server = net.createServer((socket) => this.#serve(socket));

  private constructor(
    private readonly row: Readonly<Record<string, string>>,
    private readonly most: number,
  ) {}

  /** @param most questions that each connection is answered: none behind them */
  static async start(row: Readonly<Record<string, string>>, most = Infinity): Promise<OldServer> {
    const server = new OldServer(row, most);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      // AuthenticationOk, ReadyForQuery
      socket.write(Buffer.concat([message('R', int32(0)), message('Z', Buffer.from('I'))]));
      let asked = 0;
      socket.on('data', (piece) => {
        if (piece[0] !== 'Q'.charCodeAt(0)) return;
        asked += 1;
        if (asked <= this.most) socket.write(this.#answer());
      });
    });
  }

  /** RowDescription, DataRow, CommandComplete, ReadyForQuery */
  #answer(): Buffer {
    const names = Object.keys(this.row);
    const fields = names.map((name) =>
      Buffer.concat([
        Buffer.from(`${name}\0`),
        int32(0),
        int16(0),
        int32(25),
        int16(-1),
        int32(-1),
        int16(0),
      ]),
    );
    const values = Object.values(this.row).map((value) =>
      Buffer.concat([int32(Buffer.byteLength(value)), Buffer.from(value)]),
    );
    return Buffer.concat([
      message('T', Buffer.concat([int16(names.length), ...fields])),
      message('D', Buffer.concat([int16(names.length), ...values])),
      message('C', Buffer.from('SELECT 1\0')),
      message('Z', Buffer.from('I')),
    ]);
  }
}

function message(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function int16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeInt16BE(value);
  return buffer;
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}
