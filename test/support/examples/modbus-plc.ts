import { once } from 'node:events';
import net from 'node:net';
import { ModbusTCPServer, requests } from 'jsmodbus';

/** A write of one coil, as the PLC has got it. */
interface CoilWrite {
  coil: number;
  on: boolean;
}

/** Code of the exception "device failure". */
const DEVICE_FAILURE = 0x04;

/** A PLC on Modbus TCP with a server of another make. It can refuse, be away and stay silent. */
export class ModbusPlc {
  readonly writes: CoilWrite[] = [];
  /** How it answers a write: as it should, with an exception, with the answer to another request, or not at all. */
  manner: 'confirms' | 'refuses' | 'answers another' | 'stays silent' = 'confirms';
  readonly #coils = Buffer.alloc(16);
  readonly #sockets = new Set<net.Socket>();
  #server: net.Server | undefined;

  constructor(readonly port: number) {}

  async switchOn(): Promise<void> {
    const server = net.createServer((socket) => this.#keep(socket));
    this.#server = server;
    const modbus = new ModbusTCPServer(server, { coils: this.#coils });
    modbus.on('postWriteSingleCoil', ({ body }) => {
      if (body instanceof requests.WriteSingleCoilRequestBody)
        this.writes.push({ coil: body.address, on: body.value === 0xff00 });
    });
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
  }

  async switchOff(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(server, 'close');
  }

  isOn(coil: number): boolean {
    return ((this.#coils[coil >> 3] ?? 0) & (1 << (coil & 7))) !== 0;
  }

  /** The answers of the server are changed on their way out where it shall not confirm. */
  #keep(socket: net.Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => undefined);
    const write = socket.write.bind(socket);
    socket.write = ((answer: Buffer, written: () => void) =>
      this.manner === 'stays silent' || write(this.#changed(answer), written)) as never;
  }

  #changed(answer: Buffer): Buffer {
    if (this.manner === 'confirms') return answer;
    if (this.manner === 'refuses')
      return Buffer.from([...answer.subarray(0, 5), 3, answer[6] ?? 0, 0x85, DEVICE_FAILURE]);
    const another = Buffer.from(answer);
    another.writeUInt16BE((another.readUInt16BE(0) + 1) % 0x10000, 0);
    return another;
  }
}
