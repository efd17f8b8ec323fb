import assert from 'node:assert/strict';
import net from 'node:net';
import { ExampleRun, type RunOptions, webhookOf } from '../support/examples/example-run';
import { example } from '../support/examples/examples';
import { LocalServer } from '../support/network/servers';
import { eventually } from '../support/time/patience';

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

function dc09Crc(body: string): string {
  let crc = 0;
  for (let i = 0; i < body.length; i += 1)
    crc = (crc >>> 8) ^ (REMAINDERS[(crc ^ body.charCodeAt(i)) & 0xff] ?? 0);
  return fourDigits(crc);
}

/** @throws Error where anything of the frame is not as it must be */
function readDc09(bytes: string): Dc09Frame {
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
class Dc09Receiver extends LocalServer {
  readonly frames: Dc09Frame[] = [];
  /** What came and was no frame. */
  readonly faults: string[] = [];
  manner: Manner = 'ACK';
  /** Accounts that it does not know: it answers DUH. */
  readonly unknownAccounts = new Set<string>();
  /** Milliseconds by which its clock is ahead. It says NAK to a frame whose time differs from its own by more than a minute. */
  clockAhead = 0;

  constructor() {
    super(net.createServer((socket) => this.#serve(socket)));
  }

  start(port = 0): Promise<this> {
    return this.listening(undefined, port);
  }

  /** What is no NULL message. */
  get reports(): Dc09Frame[] {
    return this.frames.filter(({ kind }) => kind !== 'NULL');
  }

  #serve(socket: net.Socket): void {
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
const ZONES = Object.fromEntries(CAMERAS.map((name, at) => [`SANDBOX ${name} 1`, at + 1]));

interface Dc09Options extends Pick<RunOptions, 'settings'> {
  /** What an installer enters in the place of what the example comes with. */
  table?: Partial<Dc09Table>;
  /** Seconds that a camera counts as raised after its alarm. */
  hold?: number;
  /** Alarms of the sandbox go out from the first moment on, also after a restart. */
  open?: boolean;
}

/** Example 05 with a receiver of its own. What it waits for lasts a second or so, not ten or twenty. */
class Dc09Run {
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
    await this.receiver.close();
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
    await this.receiver.close();
    assert.deepEqual(this.receiver.faults, []);
  }
}

const CODES = {
  default: { cid: 130, alarm: 'BA', restore: 'BR' },
  Smoke: { cid: 111, alarm: 'FA', restore: 'FR' },
};

describe('the DC-09 receiver of the tests', () => {
  // Frames that other transmitters and receivers have published, from panels in the field among them.
  const PUBLISHED = [
    'CE110032"SIA-DCS"9876R579BDFL789ABC#12345A[#12345A|NFA129]',
    '9EC40027"ADM-CID"0001L0#1002[#1002|1602 00 001]',
    'F68B003B"ADM-CID"0028L0#9757[#9757|1602 00 000]_20:59:45,02-20-2024',
    'B0970029"NULL"0000L000#0809[]_21:00:01,02-20-2024',
    'B4330036"SIA-DCS"0442L000#36214[36214|NRP]_00:00:00,02-21-2024',
  ];

  for (const published of PUBLISHED) {
    it(`reads ${published}`, () => {
      const { sequence } = readDc09(`\n${published}\r`);
      assert.equal(sequence, published.slice(8).split('"')[2]?.slice(0, 4));
    });
  }

  it('has the CRC of the published NAK, which names no account', () => {
    assert.equal(dc09Crc('"NAK"0000R0L0A0[]_10:10:18,07-30-2024'), 'E563');
  });
});

describe('example 05, alarm to a receiver as SIA DC-09', () => {
  let dc09: Dc09Run;

  before(async () => {
    dc09 = await Dc09Run.start({ table: { zones: { default: 0, ...ZONES } } });
  });

  beforeEach(() => {
    dc09.receiver.manner = 'ACK';
    dc09.receiver.frames.length = 0;
  });

  after(() => dc09?.stop());

  it('sends one frame of a new alarm, and settles it by the ACK', async () => {
    const before = Date.now();
    await dc09.report({ camera: 'SANDBOX Gate 1' });
    assert.equal(dc09.receiver.reports.length, 1);
    const { time, sequence, ...frame } = dc09.receiver.reports[0] ?? assert.fail('no frame');
    assert.deepEqual(frame, { kind: 'ADM-CID', line: 'L0', account: '1234', data: '#1234|1130 01 001' });
    assert.match(sequence, /^(?!0000)\d{4}$/);
    // In whole seconds.
    assert.ok(Number(time) > before - 1000 && Number(time) <= Date.now(), String(time));
  });

  it('sends no frame of the message that tells of the end', async () => {
    await dc09.run.end('settled at once', await dc09.run.raise({ seconds: 1 }));
    assert.equal(dc09.receiver.reports.length, 1);
  });

  for (const manner of ['NAK', 'DUH', 'another sequence number', 'wrong CRC', 'silent'] as const) {
    it(`an answer "${manner}" does not settle: the frame is sent again with its sequence number`, async () => {
      dc09.receiver.manner = manner;
      const { messageId } = await dc09.run.raise();
      await eventually(() => dc09.receiver.reports.length > 1, 'the second frame');
      assert.equal(dc09.at('refused', messageId).length, 1, 'told once');
      assert.equal(dc09.at('acknowledged', messageId).length, 0);
      dc09.receiver.manner = 'ACK';
      await dc09.acknowledged(messageId);
      assert.equal(new Set(dc09.receiver.reports.map(({ sequence }) => sequence)).size, 1);
    });
  }

  it('gives each report a sequence number of its own', async () => {
    for (const camera of ['SANDBOX Gate 1', 'SANDBOX Yard 1']) await dc09.report({ camera });
    const [first, second] = dc09.receiver.reports.map(({ sequence }) => Number(sequence));
    assert.equal(second, (first ?? assert.fail()) + 1);
  });

  it('takes the time of a receiver whose clock differs', async () => {
    dc09.receiver.clockAhead = 7_200_000;
    try {
      await dc09.report();
      const { time } = dc09.receiver.reports.at(-1) ?? assert.fail();
      assert.ok(Math.abs(Number(time) - Date.now() - 7_200_000) < 60_000, String(time));
    } finally {
      dc09.receiver.clockAhead = 0;
    }
  });

  it('reports an alarm that came while the receiver was away and Node-RED was killed', async () => {
    await Dc09Run.during({ open: true, table: { zones: ZONES } }, async (killed) => {
      const back = await killed.away();
      const { messageId } = await killed.run.raise({ camera: 'SANDBOX Entrance 1' });
      await killed.refused(messageId);
      await killed.run.restart('SIGKILL');
      await back();
      await killed.acknowledged(messageId);
      const reported = killed.receiver.reports.map(({ data }) => data);
      assert.deepEqual(reported, ['#1234|1130 01 007']);
    });
  });

  it('says so where the table cannot be read, and the alarm stays open', async () => {
    await Dc09Run.during({ table: { codes: {} } }, async (broken) => {
      await broken.run.raise();
      await broken.run.nodeRed.message('table not read');
      assert.equal(broken.run.nodeRed.at('acknowledged').length, 0);
    });
  });
});

describe('example 05, what its table says', () => {
  const SITES = { 'SANDBOX Harbour Depot': '5678', 'SANDBOX Solar Park East': '5679' };
  const table = {
    line: 'R1L0',
    accounts: { default: '1234', ...SITES },
    zones: { default: 0, ...ZONES },
    codes: CODES,
  };

  for (const [format, reports] of Object.entries({
    'ADM-CID': ['5678#5678|1111 01 001', '5679#5679|1130 01 002', '1234#1234|1130 01 003'],
    'SIA-DCS': [
      '5678#5678|Nri1/FA001^SANDBOX Gate 1^',
      '5679#5679|Nri1/BA002^SANDBOX Yard 1^',
      '1234#1234|Nri1/BA003^SANDBOX Loading Bay 1^',
    ],
  })) {
    it(`is the account by site, the zone by camera and the code by rule of ${format}, or the default`, async () => {
      await Dc09Run.during({ table: { ...table, format } }, async (dc09) => {
        await dc09.run.raise({ camera: 'SANDBOX Gate 1', eventName: 'Smoke' });
        await dc09.run.raise({ camera: 'SANDBOX Yard 1', eventName: 'Rule that nobody entered' });
        await dc09.run.raise({ camera: 'SANDBOX Loading Bay 1', eventName: 'constructor' });
        await eventually(() => dc09.receiver.reports.length === 3, 'three reports');
        const seen = dc09.receiver.reports.map(({ account, data }) => account + data);
        assert.deepEqual(new Set(seen), new Set(reports));
        for (const { kind, line } of dc09.receiver.reports) assert.deepEqual([kind, line], [format, 'R1L0']);
      });
    });
  }
});

describe('example 05, restores', () => {
  const zones = { default: 0, ...ZONES };
  let dc09: Dc09Run;
  afterEach(() => dc09?.stop());

  async function start(options: Dc09Options): Promise<void> {
    dc09 = await Dc09Run.start(options);
  }

  const dataOf = (): string[] => dc09.receiver.reports.map(({ data }) => data);

  it('follow an alarm when its camera is quiet again, each with the code and zone of its alarm', async () => {
    await start({ hold: 2, table: { format: 'SIA-DCS', zones, codes: CODES } });
    await dc09.run.raise({ camera: 'SANDBOX Gate 1', eventName: 'Smoke' });
    await dc09.run.raise({ camera: 'SANDBOX Gate 1', eventName: 'Person at the fence' });
    await eventually(() => dc09.receiver.reports.length >= 4, 'two alarms and two restores');
    assert.deepEqual(
      dataOf().map((data) => data.slice(0, 16)),
      ['FA', 'BA', 'FR', 'BR'].map((code) => `#1234|Nri1/${code}001`),
    );
    const numbers = dc09.receiver.reports.map(({ sequence }) => sequence);
    assert.equal(new Set(numbers).size, 4);
  });

  it('do not come while the camera is raised', async () => {
    await start({ hold: 3600, table: { zones } });
    await dc09.report({ camera: 'SANDBOX Yard 1', seconds: 1 });
    dc09.receiver.frames.length = 0;
    // What comes later is reported, and still no restore.
    await dc09.report({ camera: 'SANDBOX Gate 1' });
    assert.deepEqual(dataOf(), ['#1234|1130 01 001']);
  });

  it('wait for the alarm to be acknowledged, however long the receiver is away', async () => {
    await start({ hold: 1, table: { zones } });
    const back = await dc09.away();
    const { messageId } = await dc09.run.raise({ camera: 'SANDBOX Yard 1' });
    const levels = (): string[] => dc09.run.nodeRed.statuses('rvm-example-05-level');
    const isOver = (): boolean =>
      levels().some((text) => text.startsWith('raised')) && /armed/i.test(levels().at(-1) ?? '');
    await dc09.run.nodeRed.until(isOver, 'the end of the alarm');
    await back();
    await dc09.acknowledged(messageId);
    await dc09.frame('|3130 01 002');
    assert.deepEqual(dataOf(), ['#1234|1130 01 002', '#1234|3130 01 002']);
  });

  it('are sent again until they are acknowledged, with one number', async () => {
    await start({ hold: 1, table: { zones } });
    await dc09.report({ camera: 'SANDBOX Gate 1' });
    dc09.receiver.manner = 'NAK';
    const restores = (): string[] =>
      dc09.receiver.reports.filter(({ data }) => data.includes('|3')).map(({ sequence }) => sequence);
    await eventually(() => restores().length > 1, 'the restore once more');
    dc09.receiver.manner = 'ACK';
    const acknowledgedAfter = restores().length;
    await eventually(() => restores().length > acknowledgedAfter, 'the last one');
    // Whatever is reported next comes after it.
    await dc09.report({ camera: 'SANDBOX Yard 1' });
    assert.equal(new Set(restores()).size, 1);
    assert.equal(restores().length, acknowledgedAfter + 1);
  });

  it('are told after a restart of alarms that were over meanwhile, where the context is kept on disk', async () => {
    await start({
      hold: 3,
      table: { zones },
      settings: `contextStorage: { default: { module: 'localfilesystem' } },`,
    });
    await dc09.report({ camera: 'SANDBOX Gate 1' });
    await dc09.run.restart();
    await dc09.frame('|3130 01 001');
  });
});

describe('example 05, supervision', () => {
  let dc09: Dc09Run;

  before(async () => {
    dc09 = await Dc09Run.start({
      table: { supervise: { accounts: ['1234', '5678'], seconds: 1, lostAfter: 3 } },
    });
  });

  beforeEach(() => {
    dc09.receiver.manner = 'ACK';
    dc09.receiver.frames.length = 0;
  });

  after(() => dc09?.stop());

  const nulls = (account: string): string[] =>
    dc09.receiver.frames
      .filter((frame) => frame.kind === 'NULL' && frame.account === account)
      .map(({ sequence, data }) => `${sequence}${data}`);

  it('sends NULL messages by a timer, for each account that it names, each with a number of its own', async () => {
    for (const account of ['1234', '5678']) {
      await eventually(() => nulls(account).length >= 3, `three NULL messages of ${account}`);
      for (const number of nulls(account)) assert.match(number, /^\d{4}$/);
    }
    const all = [...nulls('1234'), ...nulls('5678')];
    assert.equal(new Set(all).size, all.length);
  });

  it('awaits the ACK of a NULL message: another number is none, and the message is sent again with its own', async () => {
    dc09.receiver.manner = 'another sequence number';
    await eventually(() => dc09.receiver.frames.length > 2, 'three frames');
    const frames = dc09.receiver.frames.map(({ sequence }) => sequence);
    // That before the first of them may have been acknowledged.
    assert.ok(new Set(frames.slice(1)).size === 1, frames.join(' '));
  });

  it('tells once that the line is lost, and that it is back', async () => {
    const from = dc09.run.nodeRed.at('lost').length;
    const told = (): unknown[] =>
      dc09.run.nodeRed
        .at('lost')
        .slice(from)
        .map(({ lost }) => lost);
    const back = await dc09.away();
    await dc09.run.nodeRed.until(() => told().includes(true), 'the loss');
    const { messageId } = await dc09.run.raise();
    await dc09.refused(messageId);
    await back();
    await dc09.acknowledged(messageId);
    await dc09.run.nodeRed.until(() => told().at(-1) === false, 'that it is back');
    assert.deepEqual(told().slice(-2), [true, false]);
  });

  it('sends an alarm before the NULL messages that wait', async () => {
    const back = await dc09.away();
    const { messageId } = await dc09.run.raise();
    await dc09.refused(messageId);
    await back();
    await dc09.acknowledged(messageId);
    assert.deepEqual(
      dc09.receiver.frames.slice(0, 1).map(({ kind }) => kind),
      ['ADM-CID'],
    );
  });

  it('an account that the receiver does not know holds up no other', async () => {
    dc09.receiver.unknownAccounts.add('5678');
    await eventually(() => nulls('1234').length >= 2 && nulls('5678').length >= 2, 'NULL of both');
    dc09.receiver.unknownAccounts.clear();
    await dc09.report();
  });
});
