import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';
import { PATH, PHRASE } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { nothingOpen } from '../support/node-red/inboxes-open';
import { eventually } from '../support/time/patience';
import { FileSink, sentFlow } from '../support/webhook/sinks';

describe('two Node-RED with one inbox folder', () => {
  it('C-129 lets the first go on; the second says so, delivers all the same, and takes its events in once it has the file', async () => {
    const first = await NodeRed.start();
    const second = await NodeRed.start();
    try {
      const sinks = [first, second].map((nodeRed) => new FileSink(path.join(nodeRed.userDir, 'sink')));
      const folder = path.join(first.userDir, 'remote-monitoring');
      const inbox = { id: 'inbox', type: 'rvm-inbox', folder };
      const flows = sinks.map((sink, index) => [
        ...sentFlow(sink).map((node) =>
          node.type === 'rvm-webhook-in' ? { ...node, id: `webhook-${index}`, inbox: 'inbox' } : node,
        ),
        inbox,
      ]);
      await first.deploy(flows[0] ?? []);
      const [one, two, three] = [alarmMessage(), alarmMessage(), alarmMessage()];
      assert.equal(await answerTo(first.url + PATH, one, PHRASE), 200);

      await second.deploy(flows[1] ?? []);
      await second.logged(/cannot store: another Node-RED has its file/);
      await second.until(() => second.statuses('webhook-1').at(-1) === 'status.notDurable', 'the status');
      assert.equal(await answerTo(second.url + PATH, two, PHRASE), 200);
      assert.equal(await answerTo(first.url + PATH, three, PHRASE), 200);
      const ids = (index: number): unknown[] => sinks[index]?.events().map((event) => event.messageId) ?? [];
      await eventually(() => ids(0).length === 2, 'both events at the first');
      await eventually(() => ids(1).includes(two.messageId), 'the event at the second');

      await nothingOpen(first);
      await first.stop();
      const spilled = (): string[] => fs.readdirSync(path.join(folder, 'spill'));
      await eventually(() => spilled().length === 0, 'an empty spill folder');
      assert.deepEqual(ids(0), [one.messageId, three.messageId]);
      assert.deepEqual(ids(1), [two.messageId]);
    } finally {
      await second.stopAndRemove();
      await first.stopAndRemove();
    }
  });
});
