import assert from 'node:assert/strict';
import { dc09Crc, Dc09Receiver, readDc09 } from '../support/examples/dc09-receiver';
import { eventOf, ExampleRun, webhookOf } from '../support/examples/example-run';
import { eventually } from '../support/time/patience';

type Message = Record<string, unknown>;

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
  let run: ExampleRun;
  let receiver: Dc09Receiver;

  async function start(constants: Record<string, string> = {}): Promise<void> {
    receiver = new Dc09Receiver();
    await receiver.start();
    run = await ExampleRun.start('05', {
      beside: {
        'rvm-example-05-new': 'came',
        'rvm-example-05-nothing': 'settled at once',
        'rvm-example-05-done': 'acknowledged',
        'rvm-example-05-refused': 'refused',
        'rvm-example-05-down': 'down',
      },
      changes: {
        'rvm-example-05-receiver': { port: String(receiver.port) },
        'rvm-example-05-webhook': { redeliverAfter: 3 },
      },
      constants: { 'rvm-example-05-frame': constants },
    });
  }

  before(() => start());

  beforeEach(() => {
    receiver.manner = 'ACK';
    receiver.frames.length = 0;
  });

  after(async () => {
    await run.stop();
    await receiver.stop();
  });

  afterEach(() => assert.deepEqual(receiver.faults, []));

  const at = (probe: string, messageId: string): Message[] =>
    run.nodeRed.at(probe).filter((msg) => webhookOf(msg).messageId === messageId);

  async function acknowledged(messageId: string): Promise<Message> {
    return run.nodeRed.message('acknowledged', (msg) => webhookOf(msg).messageId === messageId);
  }

  const numberOf = (msg: Message): string =>
    String(((Number(webhookOf(msg).sequence) - 1) % 9999) + 1).padStart(4, '0');

  it('sends one frame of a new alarm, and settles it by the ACK', async () => {
    const before = Date.now();
    const { messageId } = await run.raise();
    const msg = await acknowledged(messageId);
    assert.equal(receiver.frames.length, 1);
    const { time, ...frame } = receiver.frames[0] ?? assert.fail('no frame');
    assert.deepEqual(frame, {
      kind: 'ADM-CID',
      sequence: numberOf(msg),
      line: 'L0',
      account: '1234',
      data: '#1234|1130 01 000',
    });
    // In whole seconds.
    assert.ok(Number(time) > before - 1000 && Number(time) <= Date.now(), String(time));
    assert.equal(at('came', messageId).length, 1, 'it does not come again');
  });

  it('sends no frame of the message that tells of the end', async () => {
    const { alarmId } = await run.raise({ seconds: 1 });
    const isItsEnd = (msg: Message): boolean =>
      eventOf(msg).alarmId === alarmId && webhookOf(msg).phase === 'end';
    await run.nodeRed.message('settled at once', isItsEnd);
    assert.equal(receiver.frames.length, 1);
  });

  for (const manner of ['NAK', 'DUH', 'another sequence number', 'wrong CRC', 'silent'] as const) {
    it(`an answer "${manner}" does not settle: the alarm comes again with the same sequence number`, async () => {
      receiver.manner = manner;
      const { messageId } = await run.raise();
      await eventually(() => receiver.frames.length > 0, 'the first frame');
      if (manner !== 'silent')
        await run.nodeRed.until(() => at('refused', messageId).length > 0, 'the refusal');
      assert.equal(at('acknowledged', messageId).length, 0);
      receiver.manner = 'ACK';
      const msg = await acknowledged(messageId);
      assert.ok(Number(webhookOf(msg).attempt) > 1);
      assert.ok(receiver.frames.length > 1);
      assert.deepEqual([...new Set(receiver.frames.map(({ sequence }) => sequence))], [numberOf(msg)]);
    });
  }

  it('keeps an alarm while the receiver is away', async () => {
    const { port } = receiver;
    await receiver.stop();
    const { messageId } = await run.raise();
    await run.nodeRed.until(() => at('down', messageId).length > 0, 'the failure');
    receiver = new Dc09Receiver();
    await receiver.start(port);
    await acknowledged(messageId);
    assert.equal(receiver.frames.length, 1);
  });

  it('speaks SIA-DCS, with account and zone by site and camera, and clean names', async () => {
    const other = await run.raise();
    const { locationName, cameraName } = eventOf(await acknowledged(other.messageId));
    await run.stop();
    await receiver.stop();
    await start({
      FORMAT: "'SIA-DCS'",
      LINE: "'R1L0'",
      ACCOUNTS: `new Map([[${JSON.stringify(locationName)}, '5678']])`,
      ZONES: `new Map([[${JSON.stringify(cameraName)}, 7]])`,
    });
    const { messageId } = await run.raise({ camera: String(cameraName) });
    await acknowledged(messageId);
    const { kind, line, account, data } = receiver.frames[0] ?? assert.fail();
    assert.deepEqual(
      { kind, line, account, data },
      { kind: 'SIA-DCS', line: 'R1L0', account: '5678', data: `#5678|Nri1/BA007^${String(cameraName)}^` },
    );
  });
});
