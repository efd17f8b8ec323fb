import assert from 'node:assert/strict';
import { alarmStateFlow as flow, eventMessage as event } from '../support/alarms/alarm-flow';
import { entrance, inject, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { STANDING_TIME, timerStands } from '../support/node-red/node-red-time';
import { cloud, PATH, PHRASE, station, webhookIn } from '../support/node-red/flows';
import { alarmMessage, sendUntilAnswered } from '../support/webhook/alarm-message';
import { eventually } from '../support/time/patience';
import { NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';

type Message = Record<string, unknown>;

for (const version of NODE_RED_VERSIONS) {
  describe(`alarm state on Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    before(async () => {
      nodeRed = await NodeRed.start({ version, settings: STANDING_TIME });
    });
    let from = 0;
    let fresh = 0;
    const deploy = async (properties: Message = {}, ...further: FlowNode[]): Promise<void> => {
      fresh += 1;
      await nodeRed.deploy(flow({ key: `test-${fresh}`, ...properties }, ...further));
      from = nodeRed.seen.length;
    };
    after(() => nodeRed.stopAndRemove());

    const at = (name: string): Message[] => nodeRed.at(name, from);
    const send = async (msg: Message): Promise<void> => inject(nodeRed, 'in', msg);
    const next = async (name: string, count = 1): Promise<Message> => {
      await nodeRed.until(() => at(name).length >= count, `${count} at ${name}`);
      return at(name)[count - 1] as Message;
    };

    it('raises the group of an event, holds it, and releases it with the event that raised it', async () => {
      await deploy();
      const logged = nodeRed.log.length;
      const raising = event();
      await send({ ...raising, kept: 'as it was' });
      const raised = await next('state');
      assert.deepEqual([raised.payload, raised.topic, raised.kept], [true, 'Depot', 'as it was']);
      await timerStands(nodeRed, 30_000, logged);
      await nodeRed.advance(31);
      const released = await next('state', 2);
      assert.deepEqual([released.payload, released.topic], [false, 'Depot']);
      assert.deepEqual([released.webhook, released.event], [raising.webhook, raising.event]);
    });

    it('sends an event that extends by output 2, and one that is held back by output 3 with the reason', async () => {
      await deploy();
      await send(event());
      await next('state');
      await send(event());
      await next('extended');
      await send(event({ webhook: { sandbox: true } }));
      await send(event({ webhook: { ageSeconds: 301 } }));
      await send(event({ event: { eventClass: 'health' } }));
      await next('held', 3);
      assert.deepEqual(
        at('held').map(({ reason }) => reason),
        ['sandbox', 'late', 'class'],
      );
      assert.equal(at('state').length, 1);
    });

    it('raises for an event that is old by a clock that nothing has confirmed', async () => {
      await deploy();
      await send(
        event({ webhook: { ageSeconds: 300_000_000, late: true, warnings: ['clock-unconfirmed'] } }),
      );
      assert.equal((await next('state')).payload, true);
    });

    it('raises once there are enough events, and says how many there are until then', async () => {
      await deploy({ count: 2 });
      await send(event());
      const { reason, held } = await next('held');
      assert.deepEqual([reason, held], ['count', { events: 1, of: 2 }]);
      await send(event());
      assert.equal((await next('state')).payload, true);
    });

    it('is disarmed, put on test and acknowledged by messages, for one group or for all', async () => {
      await deploy();
      await send({ topic: 'disarm', group: 'Depot' });
      await send(event());
      assert.equal((await next('held')).reason, 'disarmed');
      await send(event({ event: { locationName: 'Yard' } }));
      assert.deepEqual([(await next('state')).topic, at('state').length], ['Yard', 1]);
      await send({ topic: 'acknowledge' });
      assert.deepEqual([(await next('state', 2)).payload, at('state')[1]?.topic], [false, 'Yard']);
      await send({ topic: 'arm' });
      await send({ topic: 'test', minutes: 1 });
      await send(event());
      assert.equal((await next('held', 2)).reason, 'test');
      // Where the store was still about to take it, it lasts a minute from then on.
      await eventually(async () => {
        await nodeRed.advance(61);
        await send(event());
        return at('state').length > 2;
      }, 'the end of the test');
      assert.deepEqual([(await next('state', 3)).payload, at('state')[2]?.topic], [true, 'Depot']);
    });

    it('gives Catch nodes a message that is neither an event nor a control', async () => {
      await deploy();
      await send({ topic: 'disarmed' });
      const { error } = await next('caught');
      assert.equal((error as { code?: string }).code, 'BAD_INPUT');
      await send({ topic: 'test' });
      await send({ topic: 'disarm', group: ' ' });
      await next('caught', 3);
      await send(event());
      assert.equal((await next('state')).payload, true);
    });

    it('sends the state of an event that comes again, and does not raise twice', async () => {
      await deploy();
      const raising = event();
      await send(raising);
      await next('state');
      const again = { ...raising, webhook: { ...(raising['webhook'] as Message), attempt: 2 } };
      await send(again);
      assert.deepEqual((await next('state', 2)).webhook, again.webhook);
      await send({ topic: 'acknowledge' });
      await next('state', 3);
      await send(again);
      assert.equal((await next('state', 4)).payload, false);
    });

    it('says what is raised, armed and on test', async () => {
      await deploy();
      const shows = (text: RegExp): Promise<void> =>
        nodeRed.until(
          () => text.test(nodeRed.statuses('alarms', from).at(-1) ?? ''),
          `${text} as the status`,
        );
      await send(event());
      await shows(/^raised: Depot$/);
      await send({ topic: 'disarm' });
      await shows(/^status\.alarmDisarmed$|^disarmed$/);
      await send({ topic: 'arm' });
      await shows(/^status\.alarmArmed$|^armed$/);
      await send({ topic: 'test', minutes: 5, group: 'Yard' });
      await shows(/^on test until .*: Yard$/);
    });

    it('is kept over a deploy, and sent again', async () => {
      await deploy();
      await send(event());
      await next('state');
      await send({ topic: 'disarm', group: 'Yard' });
      await nodeRed.deploy(flow({ key: `test-${fresh}`, hold: 31 }));
      const kept = await next('state', 2);
      assert.deepEqual([kept.payload, kept.topic], [true, 'Depot']);
      await send(event({ event: { locationName: 'Yard' } }));
      assert.equal((await next('held')).reason, 'disarmed');
    });

    it('is found again where the node was disabled, and goes with a node that is deleted', async () => {
      await deploy();
      const properties = { key: `test-${fresh}`, repeat: 0 };
      await send(event());
      await next('state');
      await nodeRed.deploy(
        flow(properties).map((node) => (node.id === 'alarms' ? { ...node, d: true } : node)),
      );
      await nodeRed.deploy(flow(properties));
      assert.equal((await next('state', 2)).payload, true);
      await nodeRed.deploy(flow(properties).filter(({ id }) => id !== 'alarms'));
      await nodeRed.deploy(flow(properties));
      await send(event());
      await next('state', 3);
      assert.equal(at('extended').length, 0);
    });

    it('is one for two nodes with the same short name', async () => {
      const other = {
        id: 'copy',
        type: 'rvm-alarm-state',
        z: 'tab',
        x: 0,
        y: 0,
        wires: [['state'], ['copied'], ['held']],
      };
      await deploy(
        {},
        { ...other, key: `test-${fresh + 1}`, repeat: 0 },
        ...entrance('copy-in', 'copy'),
        probe('copied'),
      );
      await send(event());
      await next('state');
      await inject(nodeRed, 'copy-in', event());
      await next('copied');
      await nodeRed.until(
        () => /shared by 2/.test(nodeRed.statuses('copy', from).at(-1) ?? ''),
        'the status of the copy',
      );
    });

    it('settles what it holds back or extends, and leaves what it raises to the answer of the panel', async () => {
      await deploy(
        {},
        cloud(),
        station(),
        webhookIn({
          path: `${PATH}/${fresh + 1}`,
          handledWhen: 'settled',
          wires: [['alarms'], ['alarms'], ['problems']],
        }),
        probe('problems'),
        { id: 'settle', type: 'rvm-settle', z: 'tab', x: 0, y: 0, wires: [['settled'], ['failed']] },
        probe('settled'),
        probe('failed'),
        ...entrance('ask', 'list'),
        { id: 'list', type: 'rvm-list-events', z: 'tab', state: 'open', x: 0, y: 0, wires: [['listed'], []] },
        probe('listed'),
      );
      const url = `${nodeRed.url}${PATH}/${fresh}`;
      const raising = alarmMessage();
      for (const message of [raising, alarmMessage(), alarmMessage({ eventClass: 'health' })])
        await sendUntilAnswered(url, message, PHRASE);
      await next('state');
      await next('extended');
      await next('held');
      const open = async (): Promise<Message[]> => {
        const before = at('listed').length;
        await inject(nodeRed, 'ask', {});
        return (await next('listed', before + 1)).payload as Message[];
      };
      await eventually(async () => (await open()).length === 1, 'one event to be left');
      assert.equal((await open())[0]?.['messageId'], raising['messageId']);
    });
  });
}

describe('an alarm state whose Node-RED is killed', () => {
  const start = (userDir?: string): Promise<NodeRed> =>
    NodeRed.start({ flows: flow(), settings: STANDING_TIME, ...(userDir !== undefined && { userDir }) });

  slowIt(
    'comes back with the hold that is left, says so at the start, and raises nothing twice',
    async () => {
      const first = await start();
      const raising = event();
      await inject(first, 'in', raising);
      await first.message('state');
      await first.stop('SIGKILL');
      const second = await start(first.userDir);
      try {
        const kept = await second.message('state');
        assert.deepEqual([kept.payload, kept.topic, kept.webhook], [true, 'Depot', raising['webhook']]);
        await inject(second, 'in', {
          ...raising,
          webhook: { ...(raising['webhook'] as Message), deliveryId: 'other' },
        });
        await second.message('extended');
        await second.advance(31);
        await second.message('state', ({ payload }) => payload === false);
        assert.equal(second.at('state').length, 2);
      } finally {
        await second.stopAndRemove();
      }
    },
  );
});
