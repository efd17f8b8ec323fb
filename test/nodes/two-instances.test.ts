import assert from 'node:assert/strict';
import { act, inboxesOpen } from '../support/node-red/inboxes-open';
import { NodeRed, inject } from '../support/node-red/node-red';
import { sharedFlow, sharedInbox } from '../support/node-red/flows';
import { caller, VideoFlow } from '../support/node-red/station-flow';
import { PostgresServer } from '../support/postgres/postgres-server';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';
import { begun } from '../support/node-red/begun-stream';
import { openPage } from '../support/video/served-view';
import { alarmStateFlow, eventMessage } from '../support/alarms/alarm-flow';

describe('two Node-RED on one inbox in PostgreSQL', () => {
  let server: PostgresServer;
  before(async function () {
    needs(this, 'postgres');
    server = await PostgresServer.start();
  });
  after(() => server?.remove());

  describe('and the self-test of a webhook', () => {
    const [first, second] = [NodeRed.ofGroup(), NodeRed.ofGroup()];
    before(async () => {
      const connection = await server.database('self_test');
      // A balancer may give it to either.
      await first.deploy(sharedFlow(connection, { webhook: { publicUrl: second.url } }));
      await second.deploy(sharedFlow(connection, { webhook: { publicUrl: second.url } }));
    });

    async function report(nodeRed: NodeRed): Promise<Record<string, unknown>> {
      const { status, body } = await act(nodeRed, 'webhook-test', { webhook: 'webhook' });
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    }

    const url = (): string => `${second.url}/remote-monitoring/test`;

    it('find it where it arrives at the other one', async () => {
      await eventually(async () => (await report(first))['failed'] === undefined, 'both inboxes to be open');
      assert.deepEqual(await report(first), { url: url(), elsewhere: true });
      await second.message('problems', (msg) => msg.topic === 'self-test');
      assert.deepEqual(first.at('problems'), []);
    });

    it('say nothing of another one where it arrives at the very node', async () =>
      assert.deepEqual(await report(second), { url: url() }));

    it('say that it has not arrived where the other one has an inbox of its own', async () => {
      await second.deploy(sharedFlow(await server.database('another'), {}));
      await eventually(async () => {
        const { failed } = await report(first);
        const { step, fault } = (failed ?? {}) as { step?: string; fault?: string };
        return step === 'arrival' && fault === 'not-arrived';
      }, 'the other inbox to be open');
    });
  });

  describe('and an alarm state', () => {
    const [first, second] = [NodeRed.ofGroup(), NodeRed.ofGroup()];
    before(async () => {
      const connection = await server.database('alarms');
      for (const nodeRed of [first, second]) {
        await nodeRed.deploy(alarmStateFlow({ inbox: 'inbox', hold: 4 }, sharedInbox(connection)));
        await inboxesOpen(nodeRed);
      }
    });

    const sent = (group: string): unknown[] =>
      [...first.at('state'), ...second.at('state')].flatMap(({ topic, payload }) =>
        topic === group ? [payload] : [],
      );
    const at = (group: string) => eventMessage({ event: { locationName: group } });
    const released = async (group: string): Promise<void> => {
      const isReleased = () => sent(group).includes(false);
      await Promise.race(
        [first, second]
          .filter(({ isRunning }) => isRunning)
          .map((each) => each.until(isReleased, 'the release')),
      );
    };

    it('is extended at one where the other has raised it, and released once', async () => {
      const raising = at('Depot');
      await inject(first, 'in', raising);
      await first.message('state');
      await inject(second, 'in', at('Depot'));
      await second.message('extended');
      assert.deepEqual(sent('Depot'), [true]);
      await released('Depot');
      assert.deepEqual(sent('Depot').length, 2);
      const last = [...first.at('state'), ...second.at('state')].find(({ payload }) => payload === false);
      assert.deepEqual(last?.webhook, raising['webhook']);
    });

    it('is disarmed at one for both', async () => {
      await inject(second, 'in', { topic: 'disarm', group: 'Yard' });
      const outputs = (): number =>
        ['held', 'state', 'extended'].reduce((sum, probe) => sum + first.at(probe).length, 0);
      while (first.at('held').length === 0) {
        const before = outputs();
        await inject(first, 'in', at('Yard'));
        await first.until(() => outputs() > before, 'an output');
      }
      assert.equal(first.at('held')[0]?.reason, 'disarmed');
    });

    it('is released by the other one where the one that has raised it is killed', async () => {
      await inject(first, 'in', at('Quay'));
      await first.message('state', ({ topic }) => topic === 'Quay');
      await first.stop('SIGKILL');
      await released('Quay');
      assert.deepEqual(sent('Quay'), [true, false]);
      assert.equal(second.at('state').at(-1)?.topic, 'Quay');
    });
  });

  describe('and a view link', () => {
    const flow = new VideoFlow();
    before(() => flow.start('5'));
    const other = NodeRed.ofGroup();
    after(() => flow.stop());

    it('open it at either, also where the flow had a file as its inbox before', async () => {
      const view = caller('rvm-view', { mode: 'event' });
      const inbox = sharedInbox(await server.database('views'));
      await flow.station.deployFlows(flow.flows([view]));
      const { payload: former } = await flow.station.through({ event: flow.event() });
      for (const nodeRed of [flow.station.nodeRed, other])
        await nodeRed.deploy([...flow.flows([view]), inbox]);
      const { payload } = await flow.station.through({ event: flow.event() });

      await eventually(async () => (await fetch(other.url + String(payload))).status === 200, 'the page');
      const { text } = await openPage(other.url + String(payload));
      assert.ok(text.includes(flow.camera.name));
      (await begun(`${other.url}${String(payload)}/stream?part=recorded`)).end();
      assert.equal((await fetch(flow.station.nodeRed.url + String(former))).status, 200);
      assert.equal((await fetch(other.url + String(former))).status, 404);
      await flow.relayLeft();
    });

    it('open it after a start without the database, once that is there, and without a message', async () => {
      const { payload } = await flow.station.through({ event: flow.event() });
      await server.end('fast');
      await other.restart();
      assert.equal((await fetch(other.url + String(payload))).status, 404);
      await server.run();
      await eventually(async () => (await fetch(other.url + String(payload))).status === 200, 'the page');
    });
  });
});
