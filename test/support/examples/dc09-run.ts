import assert from 'node:assert/strict';
import { Dc09Receiver, type Dc09Frame } from './dc09-receiver';
import { example } from './examples';
import { ExampleRun, webhookOf, type RunOptions } from './example-run';
import { eventually } from '../time/patience';

type Message = Record<string, unknown>;

/** What "accounts and codes" holds. */
export interface Dc09Table {
  format: string;
  line: string;
  supervise: { accounts: string[]; seconds: number; lostAfter: number };
  accounts: Record<string, string>;
  zones: Record<string, number>;
  codes: Record<string, { cid: number; alarm: string; restore: string }>;
}

/** As the example comes. */
export const TABLE = JSON.parse(
  String(example('05').find(({ id }) => id === 'rvm-example-05-table')?.template),
) as Dc09Table;

/** Cameras of the sandbox, so that each test can have one of its own, known by its zone. */
export const CAMERAS = ['Gate', 'Yard', 'Loading Bay', 'North Fence', 'South Fence', 'Car Park', 'Entrance'];
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
        'rvm-example-05-nothing': 'settled at once',
        'rvm-example-05-done': 'acknowledged',
        'rvm-example-05-refused': 'refused',
        'rvm-example-05-lost': 'lost',
        'rvm-example-05-wrong-table': 'table not read',
      },
      changes: {
        'rvm-example-05-receiver': { port: String(receiver.port) },
        'rvm-example-05-webhook': { redeliverAfter: 10 },
        'rvm-example-05-table': { template },
        'rvm-example-05-level': { hold },
        ...(open && { 'rvm-example-05-gate': { func: 'return [msg, null];' } }),
        'rvm-example-05-tick': { repeat: '0.2', onceDelay: '0.1' },
      },
      constants: { 'rvm-example-05-line': quick },
    });
    return new Dc09Run(run, receiver);
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
    return this.run.nodeRed.at(probe).filter((msg) => webhookOf(msg).messageId === messageId);
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
