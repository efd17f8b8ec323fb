import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { ModbusTCPServer, requests } from 'jsmodbus';
import { ExampleRun, partOf, webhookOf } from '../support/examples/example-run';
import { freePort } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

/** A write of one coil, as the PLC has got it. */
interface CoilWrite {
  coil: number;
  on: boolean;
}

/** Code of the exception "device failure". */
const DEVICE_FAILURE = 0x04;

/** A PLC on Modbus TCP with a server of another make. It can refuse, be away and stay silent. */
class ModbusPlc {
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

describe('example 03, alarm to a PLC over Modbus TCP', () => {
  let plc: ModbusPlc;
  const COIL = 11;

  before(async () => {
    plc = new ModbusPlc(await freePort());
    await plc.switchOn();
  });
  after(() => plc?.switchOff());

  const run = ExampleRun.ofGroup('03', () => ({
    beside: { alarm: 'came', done: 'confirmed', refused: 'refused', down: 'down', unsettled: 'not settled' },
    changes: {
      plc: { port: String(plc.port), splitc: '50' },
      // Its seconds are shorter.
      tick: { repeat: '0.2' },
      alarm: { hold: 2 },
      webhook: { redeliverAfter: 4 },
    },
    constants: { coil: { COIL: String(COIL) } },
  }));

  beforeEach(async () => {
    plc.manner = 'confirms';
    await eventually(() => !plc.isOn(COIL), 'the release of an earlier alarm');
    plc.writes.length = 0;
  });

  afterEach(() => assert.deepEqual(run.nodeRed.at('not settled'), []));

  /** Written since the coil was set: the release at the start may be sent once more, late. */
  const sinceSet = (): typeof plc.writes => plc.writes.slice(plc.writes.findIndex(({ on }) => on));
  const released = (): boolean => plc.writes.at(-1)?.on === false;
  const isConfirmed = (alarm: { messageId: string }): boolean =>
    run.at('confirmed', alarm).some(({ coil }) => coil === true);
  const confirmed = (alarm: { messageId: string }): Promise<void> =>
    run.nodeRed.until(() => isConfirmed(alarm), 'the confirmation');

  it('releases the coil after a start, for nobody knows what the PLC holds', async () => {
    await run.deploy();
    await eventually(released, 'the release');
    assert.deepEqual(plc.writes, [{ coil: COIL, on: false }]);
  });

  it('sets the coil for an alarm, settles it when the PLC has confirmed, and releases it by time', async () => {
    const alarm = await run.raise();
    await confirmed(alarm);
    await eventually(released, 'the release');
    assert.deepEqual(sinceSet(), [
      { coil: COIL, on: true },
      { coil: COIL, on: false },
    ]);
    assert.equal(run.at('came', alarm).length, 1, 'it does not come again');
  });

  it('sets it once for an alarm and the message that tells of its end', async () => {
    await run.end('came', await run.raise({ seconds: 1 }));
    await eventually(released, 'the release');
    assert.deepEqual(
      sinceSet().map(({ on }) => on),
      [true, false],
    );
  });

  for (const manner of ['refuses', 'answers another', 'stays silent'] as const)
    it(`sends the state again to a PLC that ${manner}, and settles nothing before it has confirmed`, async () => {
      plc.manner = manner;
      const alarm = await run.raise();
      if (manner === 'stays silent') await eventually(() => plc.isOn(COIL), 'the request');
      else {
        await run.nodeRed.until(() => run.at('refused', alarm).length > 0, 'the refusal');
        assert.match(String(run.at('refused', alarm)[0]?.payload), /exception 4|something else/);
      }
      assert.equal(isConfirmed(alarm), false);
      plc.manner = 'confirms';
      await confirmed(alarm);
    });

  it('sets the coil when a PLC that was away is back, also for an alarm that is over, and releases it then', async () => {
    await plc.switchOff();
    const alarm = await run.raise();
    const isAgain = (): boolean => run.at('came', alarm).some((msg) => Number(webhookOf(msg).attempt) > 1);
    const isOver = (): boolean => run.status('alarm').includes('Armed');
    await run.nodeRed.until(() => isAgain() && isOver(), 'the next delivery, and the end of its hold');
    assert.equal(isConfirmed(alarm), false);
    await plc.switchOn();
    await confirmed(alarm);
    await eventually(released, 'the release');
    assert.match(String(partOf(run.nodeRed.at('down')[0], 'error').message), /connect/);
  });
});
