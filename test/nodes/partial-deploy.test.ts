import assert from 'node:assert/strict';
import { alarmMessage, answerTo, post } from '../support/webhook/alarm-message';
import { PATH, PHRASE, station, webhookFlow } from '../support/node-red/flows';
import { NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';
import { NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { inboxesOpen } from '../support/node-red/inboxes-open';
import { STANDING_TIME, timerStands } from '../support/node-red/node-red-time';
import { factsOf, problemOf, raise, type Facts } from '../support/node-red/alarms-through';

const NEW_PHRASE = 'a phrase that is new';
const ON_CLOUD = { webhook: { station: '', cloud: 'cloud' } };

const HOLD = 3;

for (const version of NODE_RED_VERSIONS)
  describe(`a deploy of changes only, on Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    let url: string;
    let deployed: FlowNode[] = [];
    before(async () => {
      nodeRed = await NodeRed.start({ version, settings: STANDING_TIME });
      url = nodeRed.url + PATH;
      await deploy(webhookFlow());
      await inboxesOpen(nodeRed);
    });
    after(() => nodeRed.stopAndRemove());

    /** Deploys, as the editor does it: credentials go along only where they have changed. */
    async function deploy(flows: FlowNode[], how: 'full' | 'nodes' | 'flows' = 'full'): Promise<void> {
      const before = deployed;
      deployed = flows;
      await nodeRed.deploy(how === 'full' ? flows : withNewCredentials(flows, before), how);
    }

    /** Deploys; the webhook in is not among what Node-RED stops for it. */
    async function deployBeside(flows: FlowNode[], how: 'nodes' | 'flows'): Promise<void> {
      const { length } = nodeRed.log;
      await deploy(flows, how);
      assert.doesNotMatch(nodeRed.log.slice(length), /Stopping node rvm-webhook-in:/);
    }

    const delivered = async (phrase = PHRASE): Promise<Facts> => factsOf(await raise(nodeRed, {}, phrase));

    /** Alarms that come in meanwhile are all accepted, and come out; a second time only as an uncertain one. */
    async function underAlarms(deploying: () => Promise<void>): Promise<void> {
      const sent = Array.from({ length: 20 }, () => alarmMessage());
      const finished = deploying();
      const answers = await Promise.all(sent.map((message) => post(url, message, PHRASE)));
      await finished;
      assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
      await delivered();
      for (const { messageId } of sent) {
        const facts = nodeRed.at('alarms').map(factsOf);
        const [first, ...again] = facts.filter((each) => each.messageId === messageId);
        assert.ok(first !== undefined, 'an alarm is lost');
        assert.ok(again.every(({ attempt }) => attempt !== 1));
        const uncertain = nodeRed.at('problems').filter((msg) => problemOf(msg).messageId === messageId);
        assert.deepEqual(
          uncertain.map((msg) => problemOf(msg).kind),
          again.map(() => 'uncertain'),
        );
      }
    }

    const other = probe('other');
    const tab = { id: 'other-tab', type: 'tab', label: 'other' };
    for (const [title, how, isBeside, further] of [
      [
        'of nodes: alarms go through a webhook in that stays while another node changes',
        'nodes',
        true,
        [other],
      ],
      [
        'of flows: alarms go through a webhook in whose tab stays while another tab changes',
        'flows',
        true,
        [probe('other', 'other-tab'), tab],
      ],
      ['of flows: alarms go through a webhook in whose own tab changes', 'flows', false, [other]],
    ] as const)
      it(title, async () => {
        const [node, ...rest] = further;
        await deploy(webhookFlow({}, node, ...rest));
        const changed = webhookFlow({}, { ...node, name: 'changed' }, ...rest);
        await underAlarms(() => (isBeside ? deployBeside(changed, how) : deploy(changed, how)));
      });

    it('of nodes: a Central Station that changes alone is judged by at once, and no longer by its old phrase', async () => {
      await deploy(webhookFlow());
      const name = 'North by another name';
      await deploy(webhookFlow({ station: { name, credentials: { secret: NEW_PHRASE } } }), 'nodes');
      assert.equal((await delivered(NEW_PHRASE)).stationName, name);
      assert.equal((await post(url, alarmMessage(), PHRASE)).status, 401);
    });

    it('of nodes: a cloud that changes alone leaves its stations receiving', async () => {
      await deploy(webhookFlow(ON_CLOUD));
      await underAlarms(() => deploy(webhookFlow({ ...ON_CLOUD, cloud: { timeout: 7 } }), 'nodes'));
    });

    it('of nodes: a Central Station that joins or leaves the cloud of a path is received at once, or no more', async () => {
      const credentials = { secret: NEW_PHRASE };
      const south = station({ id: 'south-node', name: 'South', key: 'south', credentials });
      await deploy(webhookFlow(ON_CLOUD));
      assert.equal((await post(url, alarmMessage(), NEW_PHRASE)).status, 401);
      await deployBeside(webhookFlow(ON_CLOUD, south), 'nodes');
      assert.equal((await delivered(NEW_PHRASE)).station, 'south');
      assert.equal((await delivered()).station, 'north');
      await deployBeside(webhookFlow(ON_CLOUD), 'nodes');
      assert.equal((await post(url, alarmMessage(), NEW_PHRASE)).status, 401);
      assert.equal((await delivered()).station, 'north');
    });

    it('of nodes: the path of a deleted webhook in is held for its return, and free after a minute', async () => {
      const without = webhookFlow().filter((node) => node.id !== 'webhook');
      await deploy(webhookFlow());
      await delivered();

      await deploy(without, 'nodes');
      const held = delivered();
      await deploy(webhookFlow(), 'nodes');
      await held;

      await deploy(without, 'nodes');
      await nodeRed.advance(30);
      const { length } = nodeRed.log;
      const answer = answerTo(url, alarmMessage(), PHRASE);
      await timerStands(nodeRed, HOLD * 1000, length);
      await nodeRed.advance(HOLD);
      // No answer, so that the service sends again.
      assert.equal(await answer, 'cut');
      await nodeRed.advance(60);
      assert.equal((await post(url, alarmMessage(), PHRASE)).status, 404);
    });
  });

const STOP_AT_FIRST_ALARM = `stopAtFirstAlarm: (() => {
    const { events, hooks } = require(require.resolve('@node-red/util', { paths: [process.argv[1]] }));
    hooks.add('preRoute.stop', ({ source }) => {
      if (source.node.type !== 'rvm-webhook-in') return;
      hooks.remove('preRoute.stop');
      process.nextTick(() => events.emit('flows:stopping', {}));
      setImmediate(() => events.emit('flows:started', {}));
    });
  })(),`;

describe('a deploy in the moment of a delivery', () => {
  slowIt(
    'C-76 makes the alarm come again, with its delivery id and a word at output 3 that it is uncertain',
    async () => {
      await NodeRed.with({ settings: STOP_AT_FIRST_ALARM }, async (nodeRed) => {
        await nodeRed.deploy(webhookFlow());
        await inboxesOpen(nodeRed);
        const { messageId } = factsOf(await raise(nodeRed));
        const second = factsOf(await nodeRed.message('alarms', (msg) => factsOf(msg).attempt === 2));
        const [first, ...others] = nodeRed.at('alarms').map(factsOf);
        assert.deepEqual([first?.attempt, first?.messageId, others.length], [1, messageId, 1]);
        assert.equal(second.deliveryId, first?.deliveryId);

        const problem = problemOf(await nodeRed.message('problems', ({ topic }) => topic === 'uncertain'));
        assert.deepEqual([problem.reason, problem.messageId], ['restart', messageId]);
      });
    },
  );
});

function withNewCredentials(flows: FlowNode[], before: FlowNode[]): FlowNode[] {
  return flows.map((node) => {
    const known = before.find((other) => other.id === node.id)?.credentials;
    const { credentials, ...rest } = node;
    return JSON.stringify(credentials) === JSON.stringify(known) ? rest : node;
  });
}
