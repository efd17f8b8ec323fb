import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';
import { PATH, PHRASE } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { nothingOpen } from '../support/node-red/inboxes-open';
import { FileSink, sentFlow } from '../support/webhook/sinks';
import { needsStrace, Strace } from '../support/inbox/strace';
import { assertPause, eventually } from '../support/time/patience';

describe('Node-RED on a disk that fails', () => {
  let nodeRed: NodeRed;
  let sink: FileSink;
  let faults: Strace | undefined;

  before(async function () {
    needsStrace(this);
    nodeRed = await NodeRed.start();
    sink = new FileSink(path.join(nodeRed.userDir, 'sink'));
    await nodeRed.deploy(sentFlow(sink));
    assert.equal(await send(alarmMessage()), 200);
  });

  afterEach(async () => {
    await faults?.detach();
  });

  after(() => nodeRed?.stopAndRemove());

  const folder = (): string => path.join(nodeRed.userDir, 'remote-monitoring');
  const spill = (): string => path.join(folder(), 'spill');

  const isSpilled = (): boolean => fs.existsSync(spill()) && fs.readdirSync(spill()).length > 0;

  async function inject(fault: string): Promise<void> {
    const files = ['inbox.sqlite', 'inbox.sqlite-wal'].map((name) => path.join(folder(), name));
    faults = await Strace.attach(nodeRed.pid, fault, files);
  }

  const send = (message: Record<string, unknown>): Promise<number | 'cut'> =>
    answerTo(nodeRed.url + PATH, message, PHRASE);

  const arrivals = (message: Record<string, unknown>): number =>
    sink.events().filter(({ messageId }) => messageId === message.messageId).length;

  async function arrivesOnce(...messages: Record<string, unknown>[]): Promise<void> {
    await eventually(() => messages.every((message) => arrivals(message) > 0), 'the events');
    assert.deepEqual(
      messages.map(arrivals),
      messages.map(() => 1),
    );
  }

  for (const [times, calls] of [
    ['once', '1'],
    ['and closing it too', '1..4'],
  ]) {
    it(`C-124 loses nothing where a sync fails ${times}`, async () => {
      const [first, second, later] = [alarmMessage(), alarmMessage(), alarmMessage()];
      await eventually(() => !isSpilled(), 'an inbox that works');
      const before = nodeRed.log.length;
      await inject(`fsync:error=EIO:when=${calls}`);
      const answers = await Promise.all([send(first), send(second)]);
      await faults?.detach();
      assert.deepEqual(answers, [200, 200]);
      assert.match(
        nodeRed.log.slice(before),
        /cannot store: the disk reports errors: see to the disk \(SQLite \d+\)/,
      );
      assert.equal(await send(later), 200);
      await arrivesOnce(first, second, later);
    });
  }

  it('C-125 delivers alarms while the disk is full, and takes them in when it has room, without waiting for others', async () => {
    const messages = [alarmMessage(), alarmMessage()];
    await inject('pwrite64:error=ENOSPC');
    for (const message of messages) assert.equal(await send(message), 200);
    await arrivesOnce(...messages);
    assert.notDeepEqual(fs.readdirSync(spill()), []);
    await faults?.detach();
    await eventually(() => !isSpilled(), 'an empty spill folder');
    await arrivesOnce(...messages);
  });

  it('C-125 leaves alarms unanswered while neither inbox nor spill folder has room', async () => {
    const message = alarmMessage();
    fs.rmSync(spill(), { recursive: true });
    fs.writeFileSync(spill(), 'in the way');
    await inject('pwrite64:error=ENOSPC');
    assert.equal(await send(message), 'cut');
    fs.rmSync(spill());
    await faults?.detach();
    assert.equal(await send(message), 200);
    await arrivesOnce(message);
  });

  it('C-125 delivers alarms after 2 s where the disk is slow, once, and tells how long writing took', async () => {
    const before = nodeRed.log.length;
    const messages = [alarmMessage(), alarmMessage()];
    await inject('fsync:delay_enter=3s');
    const from = performance.now();
    const answers = await Promise.all(messages.map(send));
    assert.deepEqual(answers, [200, 200]);
    assertPause(performance.now() - from, 2000);
    // The sync is not waited for.
    await arrivesOnce(...messages);
    await faults?.detach();
    await nodeRed.logged(/to store an alarm.* Writing to the disk took [1-9]\d*\.\d s of that/, before);
    await arrivesOnce(...messages);
  });

  it('C-124 C-125 has everything after a restart', async () => {
    const { userDir, port } = nodeRed;
    const before = sink.events().length;
    await nothingOpen(nodeRed);
    await nodeRed.stop();
    nodeRed = await NodeRed.start({ userDir, port });
    const message = alarmMessage();
    assert.equal(await send(message), 200);
    await arrivesOnce(message);
    assert.equal(sink.events().length, before + 1);
  });
});
