import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { WebhookFacts } from '../../lib/message/event-message';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';
import {
  answered,
  arrived,
  codeOf,
  factsOf as facts,
  node,
  problemOf as problem,
  raise,
  shows,
  type Message,
} from '../support/node-red/alarms-through';
import { fileInbox, PATH, PHRASE, webhookFlow, webhookIn } from '../support/node-red/flows';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { inboxesOpen } from '../support/node-red/inboxes-open';
import { NodeRed, entrance, inject, probe, probes, type FlowNode } from '../support/node-red/node-red';
import { whileTimeFlies } from '../support/node-red/node-red-time';
import { temporaryFolder } from '../support/suite/temporary-folder';
import { eventually } from '../support/time/patience';

const settle = (properties: Message = {}): FlowNode =>
  node('rvm-settle', { id: 'settle', wires: [['settled'], ['failed']], ...properties });

const list = (properties: Message = {}): FlowNode =>
  node('rvm-list-events', { id: 'list', wires: [['listed'], []], ...properties });

/** webhook in that waits for a settlement; what settles, gets its orders by the entrance `order`. */
function settledFlow(webhook: Message = {}, settler: Message = {}, ...further: FlowNode[]): FlowNode[] {
  return webhookFlow(
    { webhook: { handledWhen: 'settled', redeliverAfter: 60, ...webhook } },
    ...entrance('order', 'settle'),
    settle({ action: 'order', actionType: 'msg', delivery: 'id', deliveryType: 'msg', ...settler }),
    ...probes('settled', 'failed'),
    ...entrance('ask', 'list'),
    list({ state: 'all' }),
    probe('listed'),
    ...entrance('recent', 'list-recent'),
    list({ id: 'list-recent', state: 'all', since: 'from', sinceType: 'msg', limit: '1' }),
    ...entrance('which', 'list-which', 'count-which'),
    ...(['list', 'count'] as const).map((how) =>
      list({
        id: `${how}-which`,
        state: 'all',
        until: 'to',
        untilType: 'msg',
        site: 'site',
        siteType: 'msg',
        camera: 'camera',
        cameraType: 'msg',
        groupBy: how === 'count' ? 'camera' : '',
        wires: [[`${how}ed`], [`un${how}ed`]],
      }),
    ),
    ...probes('counted', 'unlisted', 'uncounted'),
    ...further,
  );
}

/** As the editor deploys what it has not changed: credentials that are sent count as changed. */
const withoutCredentials = (flow: FlowNode[]) => flow.map(({ credentials: _unchanged, ...node }) => node);

for (const version of NODE_RED_VERSIONS)
  describe(`settle event and list events on Node-RED ${version}`, () => {
    const nodeRed = NodeRed.ofGroup({ version }, settledFlow);
    before(() => inboxesOpen(nodeRed));
    beforeEach(() => nodeRed.deploy(settledFlow()));

    const deliveriesOf = (deliveryId: string): number =>
      nodeRed.at('alarms').filter((msg) => facts(msg).deliveryId === deliveryId).length;

    async function order(order: string, id: unknown): Promise<void> {
      const ends = (): number => nodeRed.at('settled').length + nodeRed.at('failed').length;
      const before = ends();
      await inject(nodeRed, 'order', { order, id, kept: 'as it was' });
      await nodeRed.until(() => ends() > before, `the end of ${order}`);
    }

    const rows = async (): Promise<Message[]> =>
      (await nodeRed.next('listed', () => inject(nodeRed, 'ask', {}))).payload as Message[];

    const stateOf = async (deliveryId: string) =>
      (await rows()).find((row) => row.deliveryId === deliveryId)?.state;

    it('ends an event, and passes the message on', async () => {
      const { deliveryId } = facts(await raise(nodeRed));
      assert.equal(await stateOf(deliveryId), 'leased');
      await order('done', deliveryId);
      const passed = await nodeRed.message('settled', (msg) => msg.id === deliveryId);
      assert.equal(passed.kept, 'as it was');
      assert.equal(await stateOf(deliveryId), 'delivered');
      await order('reject', deliveryId);
      assert.equal(nodeRed.at('settled').filter((msg) => msg.id === deliveryId).length, 2);
      assert.equal(await stateOf(deliveryId), 'delivered', 'a second settlement has no effect');
    });

    it('takes the id from msg.webhook unless told otherwise', async () => {
      const bare = settle({ action: undefined, delivery: undefined });
      const webhook = webhookIn({ handledWhen: 'settled', wires: [['settle', 'alarms'], [], ['problems']] });
      const flow = settledFlow().filter(({ id }) => id !== 'settle' && id !== 'webhook');
      await nodeRed.deploy([...flow, bare, webhook]);
      const { deliveryId } = facts(await raise(nodeRed));
      await nodeRed.message('settled', (msg) => facts(msg).deliveryId === deliveryId);
      assert.equal(await stateOf(deliveryId), 'delivered');
    });

    it('brings an event again after a second, on "retry", with a higher attempt', async () => {
      const { deliveryId, sequence, first } = facts(await raise(nodeRed));
      await order('retry', deliveryId);
      const isAgain = (seen: Message) => facts(seen).deliveryId === deliveryId && facts(seen).attempt === 2;
      const again = facts(await nodeRed.message('alarms', isAgain));
      assert.deepEqual([again.sequence, again.first], [sequence, first]);
      await order('done', deliveryId);
    });

    it('leaves an event with the flow, on "extend"', async () => {
      const { deliveryId } = facts(await raise(nodeRed));
      await order('extend', deliveryId);
      await nodeRed.message('settled', (msg) => msg.id === deliveryId);
      assert.equal(await stateOf(deliveryId), 'leased');
      await order('done', deliveryId);
    });

    it('makes a dead letter of an event, on "reject", which output 3 tells with its reason', async () => {
      await nodeRed.deploy(settledFlow({}, { reason: 'no such zone' }));
      const event = await raise(nodeRed, { alarmId: 'rejected-one' });
      const { deliveryId, messageId } = facts(event);
      await order('reject', deliveryId);
      const told = problem(await nodeRed.message('problems', (msg) => msg.topic === 'dead-letter'));
      const why = { kind: 'dead-letter', reason: 'rejected', note: 'no such zone', station: 'north' };
      const which = { deliveryId, messageId, alarmId: 'rejected-one', event: event['payload'] };
      assert.partialDeepStrictEqual(told, { ...why, ...which });
      assert.equal(await stateOf(deliveryId), 'dead');
    });

    it('refuses an id that no inbox knows, a message without one, and an action that is none', async () => {
      // As behind a function that drops what it does not know.
      await nodeRed.deploy(settledFlow({}, { delivery: undefined, deliveryType: undefined }));
      await order('done', 'anything');
      const dropped = nodeRed.at('failed').at(-1)?.error as { message: string } | undefined;
      assert.match(dropped?.message ?? '', /has no delivery id: keep msg.webhook/);
      await nodeRed.deploy(settledFlow());
      for (const [action, id, code] of [
        ['done', '00000000-0000-4000-8000-000000000000', 'UNKNOWN_DELIVERY'],
        ['done', undefined, 'BAD_INPUT'],
        ['finish', 'x', 'BAD_INPUT'],
      ] as const) {
        await order(action, id);
        assert.equal(codeOf(nodeRed.at('failed').at(-1)), code);
      }
    });

    it('C-132 redelivers what nothing settles as uncertain, then buries it', async () => {
      await nodeRed.deploy(settledFlow({ redeliverAfter: 1, maxAttempts: 2 }));
      const { deliveryId } = facts(await raise(nodeRed));
      const mine = (msg: Message) => problem(msg).deliveryId === deliveryId;
      const uncertain = await nodeRed.message('problems', (msg) => msg.topic === 'uncertain' && mine(msg));
      assert.equal(problem(uncertain).reason, 'lease');
      const dead = await nodeRed.message('problems', (msg) => msg.topic === 'dead-letter' && mine(msg));
      assert.equal(problem(dead).reason, 'attempts');
      assert.equal(deliveriesOf(deliveryId), 2);
    });

    it('tells of a full window, and shows what waits', async () => {
      await nodeRed.deploy(settledFlow({ maxInFlight: 1 }));
      const first = facts(await raise(nodeRed));
      const waiting = alarmMessage();
      assert.equal(await answered(nodeRed, waiting), 200);
      const told = problem(await nodeRed.message('problems', (msg) => msg.topic === 'blocked'));
      assert.deepEqual([told.kind, told.reason, told.count, told.station], ['blocked', 'window', 1, 'north']);
      await shows(nodeRed, 'backlog 1');
      await order('done', first.deliveryId);
      await order('done', facts(await arrived(nodeRed, waiting)).deliveryId);
    });

    it('shows "no settle event node" where none is deployed', async () => {
      await nodeRed.deploy(webhookFlow({ webhook: { handledWhen: 'settled' } }));
      await shows(nodeRed, 'status.noSettleEvent');
      await nodeRed.deploy(settledFlow());
      await shows(nodeRed, /^(?!status.noSettleEvent)/);
    });

    it('counts an event as handled whose output is not wired', async () => {
      await nodeRed.deploy(settledFlow({ wires: [['alarms'], [], ['problems']] }));
      const health = alarmMessage({ eventClass: 'health' });
      assert.equal(await answered(nodeRed, health), 200);
      await raise(nodeRed);
      const row = (await rows()).find(({ messageId }) => messageId === health.messageId);
      assert.equal(row?.state, 'delivered');
    });

    it('C-76 brings an unsettled event again after a restart, as uncertain, under the same id', async () => {
      const event = facts(await raise(nodeRed));
      await nodeRed.restart('SIGKILL');
      const again = facts(
        await nodeRed.message('alarms', (msg) => facts(msg).deliveryId === event.deliveryId),
      );
      assert.deepEqual([again.attempt, again.sequence], [2, event.sequence]);
      const isTold = (msg: Message): boolean =>
        msg['topic'] === 'uncertain' && problem(msg).deliveryId === event.deliveryId;
      assert.equal(problem(await nodeRed.message('problems', isTold)).reason, 'restart');
      await order('done', event.deliveryId);
    });

    it('leaves an event with the flow that has it, when other nodes are deployed', async () => {
      const event = facts(await raise(nodeRed));
      await nodeRed.deploy(withoutCredentials(settledFlow({}, { name: 'changed' })), 'nodes');
      await order('done', event.deliveryId);
      assert.equal(await stateOf(event.deliveryId), 'delivered');
      assert.equal(deliveriesOf(event.deliveryId), 1);
    });

    it('lists flat rows, newest first, from a time on and up to a limit', async () => {
      const since = new Date().toISOString();
      await raise(nodeRed, { alarmId: 'list-1' });
      const two = await raise(nodeRed, { alarmId: 'list-2' });
      await inject(nodeRed, 'recent', { from: since });
      const { payload } = await nodeRed.message('listed', (msg) => msg.from === since);
      const { event, webhook } = two as { event: Message; webhook: WebhookFacts };
      const { receivedTime: time, messageId, deliveryId } = webhook;
      const { locationName: site, cameraName: camera, eventRuleName: rule } = event;
      const names = { site, camera, rule };
      const of = { time, messageId, deliveryId, ...names, alarmId: 'list-2', station: 'north' };
      const how = { class: 'security', phase: 'start', state: 'leased', attempts: 1 };
      assert.deepEqual(payload, [{ ...of, ...how }]);
    });

    describe('asked for those of some sites and cameras', () => {
      const pier = { locationName: 'Pier, 7', locationId: '77' };
      let asked = 0;
      const ask = async (which: Message, ...ends: string[]): Promise<Message[]> => {
        asked += 1;
        const tag = asked;
        await inject(nodeRed, 'which', { ...which, tag });
        return Promise.all(ends.map((end) => nodeRed.message(end, (msg) => msg.tag === tag)));
      };
      const idsOf = async (which: Message): Promise<string[]> => {
        const [{ payload }] = (await ask(which, 'listed')) as [Message];
        return (payload as { deliveryId: string }[]).map(({ deliveryId }) => deliveryId);
      };

      it('lists and counts them by ids and names in the message, in any spelling, and before a time', async () => {
        const one = facts(await raise(nodeRed, { ...pier, cameraId: 'p-1', cameraName: 'North' }));
        const two = facts(await raise(nodeRed, { ...pier, cameraId: 'p-2', cameraName: 'South' }));
        await raise(nodeRed, { locationName: 'Elsewhere', cameraId: 'p-3' });
        const both = [two.deliveryId, one.deliveryId];
        for (const site of ['"PIER,  7"', '77', 77, 'nowhere, 77', ['Pier, 7']])
          assert.deepEqual(await idsOf({ site }), both, String(site));
        assert.deepEqual(await idsOf({ site: '77', camera: 'p-1, p-3' }), [one.deliveryId]);
        assert.deepEqual(await idsOf({ site: '77', to: two.receivedTime }), [one.deliveryId]);
        const [counted] = (await ask({ site: '77' }, 'counted')) as [Message];
        const rows = counted.payload as { group: string; events: number }[];
        assert.deepEqual(
          rows.map(({ group, events }) => [group, events]),
          [
            ['North', 1],
            ['South', 1],
          ],
        );
      });

      it('lists those of the camera of a row by the name that the row shows', async () => {
        const { deliveryId } = facts(await raise(nodeRed, { cameraId: 'p-4', cameraName: 'By the gate' }));
        const [{ payload }] = (await ask({}, 'listed')) as [Message];
        const [row] = payload as { camera: string }[];
        assert.deepEqual(await idsOf({ camera: row?.camera }), [deliveryId]);
      });

      it('lists all where none is named', async () => {
        const { deliveryId } = facts(await raise(nodeRed));
        for (const site of ['', ' , ', null, []]) assert.ok((await idsOf({ site })).includes(deliveryId));
      });

      it('names the property that is no time, and where it stands', async () => {
        const [failed] = (await ask({ to: 'yesterday' }, 'unlisted')) as [Message];
        const { message } = failed.error as { message: string };
        assert.match(message, /property until .*msg\.to: give ISO 8601/);
      });

      it('is BAD_INPUT for what is neither text nor a number, nor a time, which seconds since 1970 are not', async () => {
        const seconds = Math.floor(Date.now() / 1000);
        for (const which of [{ site: {} }, { camera: ['a', true] }, { to: 'tomorrow' }, { to: seconds }])
          for (const failed of await ask(which, 'unlisted', 'uncounted'))
            assert.equal(codeOf(failed), 'BAD_INPUT');
      });
    });
  });

describe('the inbox node', () => {
  const nodeRed = NodeRed.ofGroup();
  const folder = temporaryFolder();

  const inbox = (properties: Message = {}): FlowNode => fileInbox(folder, properties);
  const deploy = (webhook: Message, properties: Message, ...further: FlowNode[]): Promise<void> =>
    nodeRed.deploy(webhookFlow({ webhook: { inbox: 'inbox', ...webhook } }, inbox(properties), ...further));

  it('places the store where it is told, and lets go of it when no node uses it any more', async () => {
    await deploy({}, {});
    assert.equal(await answered(nodeRed), 200);
    await nodeRed.message('alarms');
    assert.ok(fs.existsSync(path.join(folder, 'inbox.sqlite-wal')));
    await nodeRed.deploy(webhookFlow());
    await eventually(() => !fs.existsSync(path.join(folder, 'inbox.sqlite-wal')), 'the end of its log');
  });

  it('shows an error on the second of two with one folder and other settings, and both receive', async () => {
    const path2 = `${PATH}-2`;
    const second = webhookIn({ id: 'webhook-2', path: path2, inbox: 'inbox-2' });
    await deploy({}, { keyDays: 7 }, inbox({ id: 'inbox-2', keyDays: 9 }), second);
    await nodeRed.logged(/Another inbox of the same folder has other settings/);
    await shows(nodeRed, 'status.wrongSetting', 'webhook-2');
    assert.equal(await answered(nodeRed), 200);
    assert.equal(await answered(nodeRed, alarmMessage(), PHRASE, path2), 200);
  });

  it('names a variable that is not set, and answers nothing meanwhile', async () => {
    await deploy({}, { folder: '${RVM_NO_FOLDER}' });
    await shows(nodeRed, 'RVM_NO_FOLDER is not set');
    const answer = answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE);
    assert.equal(await whileTimeFlies(nodeRed, answer), 'cut');
    assert.ok(!fs.existsSync(path.join(nodeRed.userDir, '${RVM_NO_FOLDER}')));
  });

  it('refuses a folder that does not mean what it says, takes the default one, and shows it', async () => {
    for (const wrong of ['~/inbox', '${RVM_X}/inbox']) {
      await deploy({}, { folder: wrong });
      await shows(nodeRed, 'status.wrongSetting');
      assert.equal(await answered(nodeRed), 200);
      // Or it would wait in the default inbox for a later test.
      await nodeRed.message('alarms');
    }
    assert.ok(fs.readdirSync(nodeRed.userDir).every((name) => !/[~$]/.test(name)));
  });

  it('warns of a spill folder that could not serve, before it has to', async () => {
    const file = path.join(folder, 'a-file');
    fs.writeFileSync(file, '');
    await deploy({}, { spillFolder: path.join(file, 'spill') });
    await nodeRed.logged(/Nothing can be spilled to .*a-file.spill \(.* go to the flow from memory alone/);
    const inMemory = fs.mkdtempSync('/dev/shm/rvm-spill-');
    await deploy({}, { spillFolder: inMemory });
    await nodeRed.logged(/The spill folder .dev.shm.rvm-spill-\w+ lies on tmpfs/);
    fs.rmSync(inMemory, { recursive: true });
  });

  it('says how many unsettled events stay in a folder that is used no more', async () => {
    await deploy({ handledWhen: 'settled' }, {});
    await inboxesOpen(nodeRed);
    assert.equal(await answered(nodeRed), 200);
    await nodeRed.deploy(webhookFlow());
    await nodeRed.logged(/1 event in .* is not settled, and no webhook in node uses that inbox any more/);
  });

  it('says how many events wait for a webhook in node that is gone', async () => {
    await nodeRed.deploy(webhookFlow({ webhook: { handledWhen: 'settled', maxInFlight: 1 } }));
    await inboxesOpen(nodeRed);
    for (let i = 0; i < 3; i += 1) assert.equal(await answered(nodeRed), 200);
    await nodeRed.message('problems', (msg) => msg.topic === 'blocked');
    await nodeRed.deploy(webhookFlow({ webhook: { id: 'another', path: '/another' } }));
    await nodeRed.logged(/3 events in .* wait for webhook in nodes that are gone or disabled/);
  });
});
