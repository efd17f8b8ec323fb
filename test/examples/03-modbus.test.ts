import assert from 'node:assert/strict';
import { eventOf, ExampleRun, partOf, webhookOf } from '../support/examples/example-run';
import { ModbusPlc } from '../support/examples/modbus-plc';
import { freePort } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

describe('example 03, alarm to a PLC over Modbus TCP', () => {
  let run: ExampleRun;
  let plc: ModbusPlc;
  const COIL = 11;

  before(async () => {
    plc = new ModbusPlc(await freePort());
    await plc.switchOn();
    run = await ExampleRun.start('03', {
      beside: {
        'rvm-example-03-new': 'came',
        'rvm-example-03-nothing': 'settled at once',
        'rvm-example-03-done': 'confirmed',
        'rvm-example-03-refused': 'refused',
        'rvm-example-03-retry': 'again',
        'rvm-example-03-down': 'down',
        'rvm-example-03-video': 'video',
      },
      changes: {
        'rvm-example-03-plc': { port: String(plc.port), splitc: '50' },
        // Its seconds are shorter.
        'rvm-example-03-tick': { repeat: '0.2' },
        'rvm-example-03-queue': { rate: '5' },
        'rvm-example-03-webhook': { redeliverAfter: 4 },
      },
      constants: {
        'rvm-example-03-frame': { COIL: String(COIL) },
        'rvm-example-03-release': { SECONDS: '5' },
      },
    });
  });

  beforeEach(async () => {
    plc.manner = 'confirms';
    await eventually(() => !plc.isOn(COIL), 'the release of an earlier alarm');
    plc.writes.length = 0;
  });

  after(async () => {
    await run.stop();
    await plc.switchOff();
  });

  const released = (): boolean => plc.writes.at(-1)?.on === false;
  const at = (probe: string, messageId: string): Record<string, unknown>[] =>
    run.nodeRed.at(probe).filter((msg) => webhookOf(msg).messageId === messageId);

  it('releases the coil after a start, for nobody knows what the PLC holds', async () => {
    await run.deploy();
    await eventually(released, 'the release');
    assert.deepEqual(plc.writes, [{ coil: COIL, on: false }]);
  });

  it('sets the coil for a new alarm, settles it when the PLC has confirmed, and releases it by time', async () => {
    const { messageId } = await run.raise();
    await run.nodeRed.message('confirmed', (msg) => webhookOf(msg).messageId === messageId);
    await eventually(released, 'the release');
    assert.deepEqual(plc.writes, [
      { coil: COIL, on: true },
      { coil: COIL, on: false },
    ]);
    assert.equal(at('came', messageId).length, 1, 'it does not come again');
    await run.nodeRed.message('video', (msg) => webhookOf(msg).messageId === messageId);
  });

  it('does nothing with the message that tells of the end', async () => {
    const { alarmId } = await run.raise({ seconds: 1 });
    const isItsEnd = (msg: Record<string, unknown>): boolean =>
      eventOf(msg).alarmId === alarmId && webhookOf(msg).phase === 'end';
    await run.nodeRed.message('settled at once', isItsEnd);
    await eventually(released, 'the release');
    assert.deepEqual(
      plc.writes.map(({ on }) => on),
      [true, false],
    );
  });

  for (const manner of ['refuses', 'answers another'] as const) {
    it(`does not settle an alarm to which the PLC ${manner}: it comes again`, async () => {
      plc.manner = manner;
      const { messageId } = await run.raise();
      await run.nodeRed.until(() => at('refused', messageId).length > 0, 'the refusal');
      plc.manner = 'confirms';
      await run.nodeRed.until(() => at('confirmed', messageId).length > 0, 'the confirmation');
      assert.match(String(at('refused', messageId)[0]?.payload), /exception 4|something else/);
      assert.ok(Number(webhookOf(at('confirmed', messageId)[0]).attempt) > 1);
    });
  }

  it('does not settle an alarm to which the PLC stays silent: it comes again', async () => {
    plc.manner = 'stays silent';
    const { messageId } = await run.raise();
    await eventually(() => plc.isOn(COIL), 'the request');
    assert.equal(at('confirmed', messageId).length, 0);
    plc.manner = 'confirms';
    await run.nodeRed.until(() => at('confirmed', messageId).length > 0, 'the confirmation');
    assert.ok(Number(webhookOf(at('confirmed', messageId)[0]).attempt) > 1);
  });

  it('keeps an alarm while the PLC is away, and sets the coil when it is back', async () => {
    await plc.switchOff();
    const { messageId } = await run.raise();
    await run.nodeRed.until(() => at('again', messageId).length > 0, 'the alarm that is put back');
    await plc.switchOn();
    await run.nodeRed.until(() => at('confirmed', messageId).length > 0, 'the confirmation');
    assert.ok(plc.writes.some(({ on }) => on));
    assert.match(String(partOf(run.nodeRed.at('down')[0], 'error').message), /connect/);
  });
});
