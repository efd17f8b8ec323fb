import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { eventually } from '../time/patience';
import { ExampleRun, type RunOptions, webhookOf } from './example-run';
import { example } from './examples';

/** A frame of SIA DC-09 as a receiver reads it. */
interface Dc09Frame {
  kind: string;
  sequence: string;
  /** Receiver number and account prefix, such as `L0`. */
  line: string;
  account: string;
  data: string;
  /** Null where there is none. */
  time: Date | null;
}

/** How the receiver answers. */
type Manner = 'ACK' | 'NAK' | 'DUH' | 'silent' | 'another sequence number' | 'wrong CRC';

/** The remainders of CRC-16/ARC for each byte. */
const REMAINDERS = Array.from({ length: 256 }, (_, byte) =>
  Array.from({ length: 8 }).reduce<number>((value) => (value >>> 1) ^ (value % 2 === 1 ? 0xa001 : 0), byte),
);

export function dc09Crc(body: string): string {
  let crc = 0;
  for (let i = 0; i < body.length; i += 1)
    crc = (crc >>> 8) ^ (REMAINDERS[(crc ^ body.charCodeAt(i)) & 0xff] ?? 0);
  return fourDigits(crc);
}

/** @throws Error where anything of the frame is not as it must be */
export function readDc09(bytes: string): Dc09Frame {
  if (!bytes.startsWith('\n') || !bytes.endsWith('\r')) throw new Error('no line feed or carriage return');
  const crc = bytes.slice(1, 5);
  const length = bytes.slice(5, 9);
  const body = bytes.slice(9, -1);
  if (crc !== dc09Crc(body)) throw new Error(`CRC ${crc} instead of ${dc09Crc(body)}`);
  if (length !== fourDigits(body.length)) throw new Error(`length ${length} of ${body.length}`);
  const quote = body.indexOf('"', 1);
  const number = body.indexOf('#', quote);
  const open = body.indexOf('[', number);
  const close = body.indexOf(']', open);
  if (body[0] !== '"' || quote < 0 || number < 0 || open < 0 || close < 0)
    throw new Error(`not read: ${body}`);
  return {
    kind: body.slice(1, quote),
    sequence: body.slice(quote + 1, quote + 5),
    line: body.slice(quote + 5, number),
    account: body.slice(number + 1, open),
    data: body.slice(open + 1, close),
    time: timeOf(body.slice(close + 1)),
  };
}

/** A receiver of SIA DC-09 over TCP, with a reading and a CRC of its own. */
class Dc09Receiver {
  readonly frames: Dc09Frame[] = [];
  /** What came and was no frame. */
  readonly faults: string[] = [];
  manner: Manner = 'ACK';
  /** Accounts that it does not know: it answers DUH. */
  readonly unknownAccounts = new Set<string>();
  /** Milliseconds by which its clock is ahead. It says NAK to a frame whose time differs from its own by more than a minute. */
  clockAhead = 0;
  readonly #server = net.createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<net.Socket>();

  async start(port = 0): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** What is no NULL message. */
  get reports(): Dc09Frame[] {
    return this.frames.filter(({ kind }) => kind !== 'NULL');
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  #serve(socket: net.Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => undefined);
    let received = '';
    socket.on('data', (piece: Buffer) => {
      received += piece.toString('latin1');
      for (let end = received.indexOf('\r'); end >= 0; end = received.indexOf('\r')) {
        this.#take(received.slice(0, end + 1), socket);
        received = received.slice(end + 1);
      }
    });
  }

  #take(bytes: string, socket: net.Socket): void {
    try {
      const frame = readDc09(bytes);
      this.frames.push(frame);
      if (this.manner !== 'silent') socket.write(this.#answerTo(frame), 'latin1');
    } catch (error) {
      this.faults.push(String(error));
    }
  }

  #answerTo({ sequence, line, account, time }: Dc09Frame): string {
    const echo = (kind: string, number: string): string => frameOf(`"${kind}"${number}${line}#${account}[]`);
    const now = Date.now() + this.clockAhead;
    const isOff = time !== null && Math.abs(now - Number(time)) > 60_000;
    if (this.manner === 'NAK' || isOff) return frameOf(`"NAK"0000R0L0A0[]_${stampOf(new Date(now))}`);
    if (this.unknownAccounts.has(account)) return echo('DUH', sequence);
    if (this.manner === 'another sequence number')
      return echo('ACK', String((Number(sequence) % 9999) + 1).padStart(4, '0'));
    if (this.manner === 'wrong CRC') return echo('ACK', sequence).replace(/^\n.{4}/s, '\n0000');
    return echo(this.manner, sequence);
  }
}

function frameOf(body: string): string {
  return `\n${dc09Crc(body)}${fourDigits(body.length)}${body}\r`;
}

/** `_HH:MM:SS,MM-DD-YYYY`, in UTC. */
function timeOf(text: string): Date | null {
  if (text === '') return null;
  const [, hour, minute, second, month, day, year] =
    /^_(\d\d):(\d\d):(\d\d),(\d\d)-(\d\d)-(\d{4})$/.exec(text) ?? [];
  if (year === undefined) throw new Error(`no time: ${text}`);
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

function stampOf(time: Date): string {
  const text = time.toISOString();
  return `${text.slice(11, 19)},${text.slice(5, 7)}-${text.slice(8, 10)}-${text.slice(0, 4)}`;
}

function fourDigits(number: number): string {
  return number.toString(16).toUpperCase().padStart(4, '0');
}

type Message = Record<string, unknown>;

/** What "accounts and codes" holds. */
interface Dc09Table {
  format: string;
  line: string;
  supervise: { accounts: string[]; seconds: number; lostAfter: number };
  accounts: Record<string, string>;
  zones: Record<string, number>;
  codes: Record<string, { cid: number; alarm: string; restore: string }>;
}

/** As the example comes. */
const TABLE = JSON.parse(
  String(example('05').find(({ id }) => id === 'rvm-example-05-table')?.template),
) as Dc09Table;

/** Cameras of the sandbox, so that each test can have one of its own, known by its zone. */
const CAMERAS = ['Gate', 'Yard', 'Loading Bay', 'North Fence', 'South Fence', 'Car Park', 'Entrance'];
export const ZONES = Object.fromEntries(CAMERAS.map((name, at) => [`SANDBOX ${name} 1`, at + 1]));

export interface Dc09Options extends Pick<RunOptions, 'settings'> {
  /** What an installer enters in the place of what the example comes with. */
  table?: Partial<Dc09Table>;
  /** Seconds that a camera counts as raised after its alarm. */
  hold?: number;
  /** Alarms of the sandbox go out from the first moment on, also after a restart. */
  open?: boolean;
}

/** Example 05 with a receiver of its own. What it waits for lasts a second or so, not ten or twenty. */
export class Dc09Run {
  private constructor(
    readonly run: ExampleRun,
    public receiver: Dc09Receiver,
  ) {}

  static async start({ table, hold = 3600, open = false, settings }: Dc09Options = {}): Promise<Dc09Run> {
    const receiver = new Dc09Receiver();
    await receiver.start();
    const quick = { ANSWER: '2', AGAIN: '0.5', REFUSED: '1' };
    const template = JSON.stringify({ ...TABLE, ...table });
    const run = await ExampleRun.start('05', {
      ...(settings !== undefined && { settings }),
      closed: open,
      beside: {
        nothing: 'settled at once',
        done: 'acknowledged',
        refused: 'refused',
        lost: 'lost',
        'wrong-table': 'table not read',
      },
      changes: {
        receiver: { port: String(receiver.port) },
        webhook: { redeliverAfter: 10 },
        table: { template },
        level: { hold },
        ...(open && { gate: { func: 'return [msg, null];' } }),
        tick: { repeat: '0.2', onceDelay: '0.1' },
      },
      constants: { line: quick },
    });
    return new Dc09Run(run, receiver);
  }

  /** For one test. */
  static async during(options: Dc09Options, test: (dc09: Dc09Run) => Promise<void>): Promise<void> {
    const dc09 = await Dc09Run.start(options);
    try {
      await test(dc09);
    } finally {
      await dc09.stop();
    }
  }

  /** The receiver is switched off, and on again as a new one at the same address. */
  async away(): Promise<() => Promise<void>> {
    const { port, faults } = this.receiver;
    assert.deepEqual(faults, []);
    await this.receiver.stop();
    return async () => {
      this.receiver = new Dc09Receiver();
      await this.receiver.start(port);
    };
  }

  acknowledged(messageId: string): Promise<Message> {
    return this.run.nodeRed.message('acknowledged', (msg) => webhookOf(msg).messageId === messageId);
  }

  at(probe: string, messageId: string): Message[] {
    return this.run.at(probe, { messageId });
  }

  /** Waits until the example has told that a report of this message has failed. */
  refused(messageId: string): Promise<void> {
    return this.run.nodeRed.until(() => this.at('refused', messageId).length > 0, 'the failure');
  }

  /** Raises an alarm. @returns the id of its message, once the receiver has acknowledged it */
  async report(alarm: Parameters<ExampleRun['raise']>[0] = {}): Promise<string> {
    const { messageId } = await this.run.raise(alarm);
    await this.acknowledged(messageId);
    return messageId;
  }

  /** The first frame whose data end so, once the receiver has it. */
  async frame(data: string): Promise<Dc09Frame> {
    const isIt = (frame: Dc09Frame): boolean => frame.data.endsWith(data);
    await eventually(() => this.receiver.reports.some(isIt), `the frame ${data}`);
    return this.receiver.reports.find(isIt) ?? assert.fail();
  }

  async stop(): Promise<void> {
    await this.run.stop();
    await this.receiver.stop();
    assert.deepEqual(this.receiver.faults, []);
  }
}
