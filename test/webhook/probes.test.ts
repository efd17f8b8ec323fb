import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { SpillProbe } from '../../lib/inbox/spare/spare-folder';
import { InlineInbox } from '../support/inbox/each-store';
import { eventually } from '../support/time/patience';
import { proven } from '../inbox/samples';
import { ReceiverUnderTest, SERVERS, type Answer } from './receiver-under-test';
import { signed, station } from './sample';

const BELOW = '/remote-monitoring/';
const LIVE = `${BELOW}live`;
const READY = `${BELOW}ready`;
const NOWHERE = { keep: { keys: 1, bodies: 1 }, spillFolder: path.join(process.execPath, 'spill') };

const accepts = (inbox: InlineInbox): Promise<boolean> =>
  inbox.accept(proven()).then(
    () => true,
    () => false,
  );

for (const [on, place] of SERVERS)
  describe(`live and ready on ${place}`, () => {
    let inbox: InlineInbox;
    let receiver: ReceiverUnderTest;

    beforeEach(async () => {
      inbox = new InlineInbox();
      await eventually(() => inbox.state().durable === true, 'the store');
      receiver = await ReceiverUnderTest.start({ inbox, on, probesBelow: BELOW });
      receiver.dispatcher.flowsStarted();
    });
    afterEach(() => receiver.close());

    const ask = (asked: string, method = 'GET'): Promise<Answer> => receiver.post({ path: asked, method });
    const ready = async (): Promise<number> => (await ask(READY)).status;

    it('answer 200 while alarms would be taken, and nobody may keep that', async () => {
      for (const asked of [LIVE, READY]) {
        const { status, text, headers } = await ask(asked);
        assert.deepEqual([status, text, headers['cache-control']], [200, '{"ok":true}', 'no-store']);
      }
    });

    it('answer HEAD without a body, by the same status', async () => {
      const works = await ask(READY, 'HEAD');
      assert.deepEqual([works.status, works.text], [200, '']);
      receiver.dispatcher.flowsStopping();
      const worksNot = await ask(READY, 'HEAD');
      assert.deepEqual([worksNot.status, worksNot.text], [503, '']);
    });

    it('refuse every other method, the alarm of a mistyped address among them', async () => {
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const { status, headers } = await ask(READY, method);
        assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'], method);
      }
      const { body, headers } = signed();
      assert.equal((await receiver.post({ path: LIVE, body, headers })).status, 405);
      assert.equal(receiver.deliveries.length, 0);
    });

    it('are two exact paths, and nothing beside them', async () => {
      for (const asked of [`${READY}/`, `${READY}?from=balancer`])
        assert.equal((await ask(asked)).status, 200);
      for (const asked of ['/ready', '/remote-monitoring', BELOW, `${READY}x`, `${READY}/x`, `${BELOW}Ready`])
        assert.equal((await ask(asked)).status, 404, asked);
    });

    it('say nothing of why', async () => {
      inbox.configure(NOWHERE);
      inbox.fails = true;
      await inbox.accept(proven()).catch(() => undefined);
      assert.deepEqual([(await ask(READY)).text, (await ask(LIVE)).text], ['{"ok":false}', '{"ok":true}']);
    });

    it('ready is 503 without a webhook in, for an alarm would find nobody', async () => {
      receiver.dispatcher.remove(receiver.endpoint);
      assert.equal(await ready(), 503);
    });

    it('ready is 503 while no webhook in can judge a message, and 200 as soon as one can', async () => {
      receiver.stations = [station({ secret: '' })];
      assert.equal(await ready(), 503);
      const other = { ...receiver.endpoint, id: 'other', path: '/other', stations: () => [station()] };
      assert.ok(receiver.dispatcher.add(other));
      assert.equal(await ready(), 200);
    });

    it('ready is 503 while neither takes them, and 200 again when the store does', async () => {
      inbox.configure(NOWHERE);
      inbox.fails = true;
      await assert.rejects(inbox.accept(proven()));
      assert.equal(await ready(), 503);
      inbox.fails = false;
      // The first alarm has it looked at, and is not kept waiting for that.
      await eventually(() => accepts(inbox), 'the store');
      assert.equal(await ready(), 200);
    });

    it('ready is 503 where one of several inboxes would not keep its alarms', async () => {
      const failing = new InlineInbox(NOWHERE);
      await eventually(() => failing.state().durable === true, 'the store');
      assert.ok(receiver.dispatcher.add({ ...receiver.endpoint, path: '/other', inbox: failing }));
      assert.equal(await ready(), 200);
      failing.fails = true;
      await assert.rejects(failing.accept(proven()));
      assert.equal(await ready(), 503);
      await failing.close();
    });

    it('ready is 503 while an inbox does not say what it would do', async () => {
      const silent = new InlineInbox();
      silent.canAccept = () => new Promise(() => undefined);
      assert.ok(receiver.dispatcher.add({ ...receiver.endpoint, path: '/other', inbox: silent }));
      assert.equal(await ready(), 503);
      await silent.close();
    });

    it('ready is 503 from the close of the server for good', async () => {
      const asking = ask(READY);
      receiver.dispatcher.close();
      assert.equal((await asking).status, 503);
    });
  });

describe('an inbox that is asked whether it would keep an alarm', () => {
  it('says no before it was opened, and after it was closed', async () => {
    const inbox = new InlineInbox();
    assert.equal(await inbox.canAccept(), false);
    await eventually(() => inbox.state().durable === true, 'the store');
    assert.equal(await inbox.canAccept(), true);
    await inbox.close();
    assert.equal(await inbox.canAccept(), false);
  });

  it('tries its spill folder once in a second, however often it is asked', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-probe-'));
    let now = 0;
    const probe = new SpillProbe(() => now);
    const several = (): Promise<boolean[]> => Promise.all([1, 2, 3].map(() => probe.passes(folder)));
    assert.deepEqual(await several(), [true, true, true]);
    assert.deepEqual(fs.readdirSync(folder), []);
    fs.rmdirSync(folder);
    fs.writeFileSync(folder, '');
    now = 999;
    assert.deepEqual(await several(), [true, true, true]);
    now = 1000;
    assert.deepEqual(await several(), [false, false, false]);
    fs.unlinkSync(folder);
  });
});
