import assert from 'node:assert/strict';
import { alarmMessage, signature } from '../support/webhook/alarm-message';
import { Authority } from '../support/network/certificates';
import { BALANCER_KINDS, programOf, requestTo, ReverseProxy, statusOf } from '../support/network/proxies';
import { PATH, PHRASE, part, sharedFlow } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { PostgresServer } from '../support/postgres/postgres-server';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';

type Message = Record<string, unknown>;

/** HAProxy lets a connection hang without a word: a sender gives it up. In milliseconds. */
const GIVES_UP = 8000;
const SETTINGS = 'runtimeState: { enabled: true, ui: false },';

for (const kind of BALANCER_KINDS)
  describe(`two Node-RED on one PostgreSQL behind ${kind}`, () => {
    let database: PostgresServer;
    let authority: Authority;
    let instances: NodeRed[];
    let balancer: ReverseProxy;

    before(async function () {
      needs(this, programOf(kind), 'openssl', 'postgres');
      database = await PostgresServer.start();
      authority = new Authority();
      instances = await Promise.all([1, 2].map(() => NodeRed.start({ settings: SETTINGS })));
      for (const instance of instances) await instance.deploy(sharedFlow(database.url()));
      balancer = await ReverseProxy.start(kind, { upstream: instances.map(({ port }) => port), authority });
    });

    after(async () => {
      await balancer?.stop();
      for (const instance of instances ?? []) await instance.stopAndRemove();
      await database?.remove();
      authority?.remove();
    });

    /** Status of the answer; NaN = there was none. */
    const post = (message: Message): Promise<number> => postBody(JSON.stringify(message, null, ' '));

    async function postBody(body: string, authorization = signature(body, PHRASE)): Promise<number> {
      const request = requestTo(PATH, body, { further: [`Authorization: ${authorization}`] });
      return statusOf(await balancer.exchange(request, { patience: GIVES_UP }));
    }

    async function run(instance: NodeRed | undefined, state: 'start' | 'stop'): Promise<void> {
      const headers = { 'Content-Type': 'application/json' };
      const asked = { method: 'POST', headers, body: JSON.stringify({ state }) };
      assert.ok((await fetch(`${instance?.url}/flows/state`, asked)).ok);
    }

    const arrivals = ({ messageId }: Message): number =>
      instances.flatMap((instance) =>
        instance.at('alarms').filter((msg) => part(msg, 'webhook').messageId === messageId),
      ).length;

    /** As the service does: what got no answer is sent again. */
    async function arrives(message: Message): Promise<void> {
      await eventually(async () => (await post(message)) === 200, '200');
      await eventually(() => arrivals(message) === 1, 'the alarm');
    }

    it('take alarms by turns, each proven by its signature, and each comes once', async () => {
      await eventually(async () => {
        const message = alarmMessage();
        await arrives(message);
        return instances.every((instance) => instance.at('alarms').length > 0);
      }, 'alarms at both');
      for (const instance of instances)
        for (const msg of instance.at('alarms')) assert.equal(part(msg, 'webhook').proof, 'hmac');
    });

    it('refuse a message that is not proven, and one of more than 1 MiB, through the balancer', async () => {
      const proven = JSON.stringify(alarmMessage());
      assert.equal(await postBody(proven, signature(proven, 'another phrase')), 401);
      for (const length of [1024 * 1024 + 1, 3 * 1024 * 1024])
        assert.equal(await postBody('x'.repeat(length)), 413);
    });

    it('take every alarm while the flows of one are stopped, at the other', async () => {
      await run(instances[0], 'stop');
      const before = instances[0]?.at('alarms').length;
      const messages = [alarmMessage(), alarmMessage(), alarmMessage()];
      for (const message of messages) assert.equal(await post(message), 200);
      for (const message of messages) await eventually(() => arrivals(message) === 1, 'the alarm');
      assert.equal(instances[0]?.at('alarms').length, before);
    });

    it('give no answer while the flows of both are stopped, and take the alarm when it is sent again', async () => {
      await run(instances[1], 'stop');
      const message = alarmMessage();
      // At first HAProxy may not know yet that none is ready.
      assert.ok(Number.isNaN(await post(message)));
      for (const instance of instances) await run(instance, 'start');
      await arrives(message);
    });

    it('give no answer while the database is away, and take the alarm once it is back', async () => {
      const isReady = async ({ url }: NodeRed): Promise<boolean> =>
        (await fetch(`${url}/remote-monitoring/ready`)).ok;
      for (const instance of instances) assert.ok(await isReady(instance));
      await database.end('fast');
      for (const instance of instances)
        await eventually(async () => !(await isReady(instance)), 'it to be unready');
      const message = alarmMessage();
      assert.ok(Number.isNaN(await post(message)));
      await database.run();
      await arrives(message);
    });
  });
