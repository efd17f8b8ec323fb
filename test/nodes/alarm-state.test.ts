import assert from 'node:assert/strict';
import type { Message } from '../support/node-red/alarms-through';
import { alarmStateFlow as flow, eventMessage as event } from '../support/alarms/alarm-flow';
import { entrance, flowNode, inject, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { STANDING_TIME, timerStands } from '../support/node-red/node-red-time';
import { cloud, PATH, PHRASE, station, webhookIn } from '../support/node-red/flows';
import { alarmMessage, sendUntilAnswered } from '../support/webhook/alarm-message';
import { eventually } from '../support/time/patience';
import { NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';

for (const version of NODE_RED_VERSIONS)
  describe(`alarm state on Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    let from = 0;
    let fresh = 0;
    before(async () => (nodeRed = await NodeRed.start({ version, settings: STANDING_TIME })));
    after(() => nodeRed.stopAndRemove());

    const same = (properties: Message = {}): Message => ({ key: `test-${fresh}`, ...properties });
    const deploy = async (properties: Message = {}, ...further: FlowNode[]): Promise<void> => {
      fresh += 1;
      await nodeRed.deploy(flow(same(properties), ...further));
      from = nodeRed.seen.length;
    };

    const at = (name: string): Message[] => nodeRed.at(name, from);
    const send = async (msg: Message): Promise<void> => inject(nodeRed, 'in', msg);
    const next = async (name: string, count = 1): Promise<Message> => {
      await nodeRed.until(() => at(name).length >= count, `${count} at ${name}`);
      return at(name)[count - 1] as Message;
    };
    const says = async (payload: boolean, topic: string, count = 1): Promise<Message> => {
      const msg = await next('state', count);
      assert.deepEqual([msg.payload, msg.topic], [payload, topic]);
      return msg;
    };
    const raise = async (changes?: Parameters<typeof event>[0]): Promise<Message> => {
      const raising = event(changes);
      await send(raising);
      await next('state');
      return raising;
    };

    it('raises the group of an event, holds it, and releases it with the event that raised it', async () => {
      await deploy();
      const logged = nodeRed.log.length;
      const raising = event();
      await send({ ...raising, kept: 'as it was' });
      assert.equal((await says(true, 'Depot')).kept, 'as it was');
      await timerStands(nodeRed, 30_000, logged);
      await nodeRed.advance(31);
      const released = await says(false, 'Depot', 2);
      assert.deepEqual([released.webhook, released.event], [raising.webhook, raising.event]);
    });

    it('sends an event that extends by output 2, and one that is held back by output 3 with the reason', async () => {
      await deploy();
      await raise();
      await send(event());
      await next('extended');
      await send(event({ webhook: { sandbox: true } }));
      await send(event({ webhook: { ageSeconds: 301 } }));
      await send(event({ event: { eventClass: 'health' } }));
      await next('held', 3);
      const reasons = at('held').map(({ reason }) => reason);
      assert.deepEqual(reasons, ['sandbox', 'late', 'class']);
      assert.equal(at('state').length, 1);
    });

    for (const [classes, raising, held] of [
      ['security', 'own', 'health'],
      [' own ,health, ', 'health', 'security'],
      ['"Fire, water", own', 'Fire, water', 'water'],
    ] as const)
      it(`takes events of the classes ${classes} alone`, async () => {
        await deploy({ classes });
        await send(event({ event: { eventClass: held } }));
        assert.equal((await next('held')).reason, 'class');
        await raise({ event: { eventClass: raising } });
      });

    it('raises for an event that is old by a clock that nothing has confirmed', async () => {
      await deploy();
      const warnings = ['clock-unconfirmed'];
      await raise({ webhook: { ageSeconds: 300_000_000, late: true, warnings } });
      await says(true, 'Depot');
    });

    it('raises once there are enough events, and says how many there are until then', async () => {
      await deploy({ count: 2 });
      await send(event());
      const { reason, held } = await next('held');
      assert.deepEqual([reason, held], ['count', { events: 1, of: 2 }]);
      await send(event());
      await says(true, 'Depot');
    });

    it('is disarmed, put on test and acknowledged by messages, for one group or for all', async () => {
      await deploy();
      await send({ topic: 'disarm', group: 'Depot' });
      await send(event());
      assert.equal((await next('held')).reason, 'disarmed');
      await send(event({ event: { locationName: 'Yard' } }));
      await says(true, 'Yard');
      await send({ topic: 'acknowledge' });
      await says(false, 'Yard', 2);
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
      await says(true, 'Depot', 3);
    });

    it('gives Catch nodes a message that is neither an event nor a control', async () => {
      await deploy();
      await send({ topic: 'disarmed' });
      const { error } = await next('caught');
      assert.equal((error as { code?: string }).code, 'BAD_INPUT');
      await send({ topic: 'test' });
      await send({ topic: 'disarm', group: ' ' });
      await next('caught', 3);
      await raise();
      await says(true, 'Depot');
    });

    it('sends the state of an event that comes again, and does not raise twice', async () => {
      await deploy();
      const raising = await raise();
      const again = { ...raising, webhook: { ...(raising['webhook'] as Message), attempt: 2 } };
      await send(again);
      assert.deepEqual((await next('state', 2)).webhook, again.webhook);
      await send({ topic: 'acknowledge' });
      await next('state', 3);
      await send(again);
      await says(false, 'Depot', 4);
    });

    it('says what is raised, armed and on test', async () => {
      await deploy();
      const shows = async (msg: Message, text: RegExp): Promise<void> => {
        await send(msg);
        const shown = (): string => nodeRed.statuses('alarms', from).at(-1) ?? '';
        await nodeRed.until(() => text.test(shown()), `${text} as the status`);
      };
      await shows(event(), /^raised: Depot$/);
      await shows({ topic: 'disarm' }, /^status\.alarmDisarmed$|^disarmed$/);
      await shows({ topic: 'arm' }, /^status\.alarmArmed$|^armed$/);
      await shows({ topic: 'test', minutes: 5, group: 'Yard' }, /^on test until .*: Yard$/);
    });

    it('is kept over a deploy, and sent again', async () => {
      await deploy();
      await raise();
      await send({ topic: 'disarm', group: 'Yard' });
      await nodeRed.deploy(flow(same({ hold: 31 })));
      await says(true, 'Depot', 2);
      await send(event({ event: { locationName: 'Yard' } }));
      assert.equal((await next('held')).reason, 'disarmed');
    });

    it('is found again where the node was disabled, and goes with a node that is deleted', async () => {
      await deploy();
      const flows = flow(same({ repeat: 0 }));
      await raise();
      await nodeRed.deploy(flows.map((node) => (node.id === 'alarms' ? { ...node, d: true } : node)));
      await nodeRed.deploy(flows);
      await says(true, 'Depot', 2);
      await nodeRed.deploy(flows.filter(({ id }) => id !== 'alarms'));
      await nodeRed.deploy(flows);
      await send(event());
      await next('state', 3);
      assert.equal(at('extended').length, 0);
    });

    it('is one for two nodes with the same short name', async () => {
      const targets = [['state'], ['copied'], ['held']];
      const copy = flowNode('copy', 'rvm-alarm-state', targets, { key: `test-${fresh + 1}`, repeat: 0 });
      await deploy({}, copy, ...entrance('copy-in', 'copy'), probe('copied'));
      await raise();
      await inject(nodeRed, 'copy-in', event());
      await next('copied');
      const shown = (): string => nodeRed.statuses('copy', from).at(-1) ?? '';
      await nodeRed.until(() => /shared by 2/.test(shown()), 'the status of the copy');
    });

    it('settles what it holds back or extends, and leaves what it raises to the answer of the panel', async () => {
      const wires = [['alarms'], ['alarms'], ['problems']];
      await deploy(
        {},
        cloud(),
        station(),
        webhookIn({ path: `${PATH}/${fresh + 1}`, handledWhen: 'settled', wires }),
        probe('problems'),
        flowNode('settle', 'rvm-settle', [[], []]),
        ...entrance('ask', 'list'),
        flowNode('list', 'rvm-list-events', [['listed'], []], { state: 'open' }),
        probe('listed'),
      );
      const url = `${nodeRed.url}${PATH}/${fresh}`;
      const raising = alarmMessage();
      for (const message of [raising, alarmMessage(), alarmMessage({ eventClass: 'health' })])
        await sendUntilAnswered(url, message, PHRASE);
      for (const output of ['state', 'extended', 'held']) await next(output);
      const open = async (): Promise<Message[]> =>
        (await nodeRed.next('listed', () => inject(nodeRed, 'ask', {}))).payload as Message[];
      await eventually(async () => (await open()).length === 1, 'one event to be left');
      assert.equal((await open())[0]?.['messageId'], raising['messageId']);
    });
  });

slowIt(
  'an alarm state whose Node-RED is killed comes back with the hold that is left, says so at the start, and raises nothing twice',
  async () => {
    const options = { flows: flow(), settings: STANDING_TIME };
    const first = await NodeRed.start(options);
    const raising = event();
    await inject(first, 'in', raising);
    await first.message('state');
    await first.stop('SIGKILL');
    await NodeRed.with({ ...options, userDir: first.userDir }, async (second) => {
      const kept = await second.message('state');
      assert.deepEqual([kept.payload, kept.topic, kept.webhook], [true, 'Depot', raising['webhook']]);
      const webhook = { ...(raising['webhook'] as Message), deliveryId: 'other' };
      await inject(second, 'in', { ...raising, webhook });
      await second.message('extended');
      await second.advance(31);
      await second.message('state', ({ payload }) => payload === false);
      assert.equal(second.at('state').length, 2);
    });
  },
);
