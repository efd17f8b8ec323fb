import assert from 'node:assert/strict';
import path from 'node:path';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';
import { PATH, PHRASE } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { nightlyIt } from '../support/suite/lanes';
import { eventually } from '../support/time/patience';
import { inboxesOpen, nothingOpen } from '../support/node-red/inboxes-open';
import { FileSink, sentFlow } from '../support/webhook/sinks';

const HOUR = 3_600_000;
const CLOCKS = [
  ['that was never set', HOUR - Date.now(), nightlyIt],
  ['that is an hour behind', -HOUR, nightlyIt],
  ['that is two days ahead', 48 * HOUR, it],
  ['that is right again', 0, nightlyIt],
] as const;

/** Setting of a Node-RED whose wall clock is wrong by so many milliseconds. */
const wrongBy = (shift: number): string => `wrongClock: (() => {
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...args) { super(...(args.length === 0 ? [RealDate.now() + ${shift}] : args)); }
    static now() { return RealDate.now() + ${shift}; }
  };
})(),`;

describe('a wall clock that is wrong after a restart', () => {
  let nodeRed: NodeRed;
  let sink: FileSink;
  const sent: Record<string, unknown>[] = [];

  const send = (message: Record<string, unknown>): Promise<number | 'cut'> =>
    answerTo(nodeRed.url + PATH, message, PHRASE);

  async function sendNew(): Promise<void> {
    const message = alarmMessage();
    assert.equal(await send(message), 200);
    sent.push(message);
    await eventually(() => sink.all().length >= sent.length, 'the event');
  }

  before(async () => {
    nodeRed = await NodeRed.start();
    sink = new FileSink(path.join(nodeRed.userDir, 'sink'));
    await nodeRed.deploy(sentFlow(sink));
    await inboxesOpen(nodeRed);
    await sendNew();
  });

  after(() => nodeRed.stopAndRemove());

  for (const [title, shift, test] of CLOCKS) {
    test(`C-130 loses nothing, repeats nothing and calls nothing stale with a clock ${title}`, async () => {
      const { userDir, port } = nodeRed;
      await nothingOpen(nodeRed);
      await nodeRed.stop();
      nodeRed = await NodeRed.start({ userDir, port, settings: wrongBy(shift) });
      await inboxesOpen(nodeRed);
      for (const message of sent) assert.equal(await send(message), 200);
      await sendNew();
      for (const message of sent) assert.equal(await send(message), 200);
      await sendNew();
      assert.deepEqual(
        sink.all().map(({ messageId, kind }) => [messageId, kind]),
        sent.map(({ messageId }) => [messageId, undefined]),
      );
    });
  }
});
