import assert from 'node:assert/strict';
import { Sandbox } from '../../sandbox';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { eventually } from '../support/time/patience';
import { ExampleRun, partOf, webhookOf } from '../support/examples/example-run';
import { PHRASE } from '../support/node-red/flows';
import { freePort } from '../support/node-red/node-red';

type Message = Record<string, unknown>;

interface Delivery {
  messageId: string;
  state: string;
  attempts: { status?: number }[];
}

describe('example 14, own http in, verified', () => {
  let sandbox: Sandbox;
  let url: string;

  before(async () => {
    sandbox = await Sandbox.start({ eventsPerMinute: 0, seed: 7, rtspPort: 0 });
    sandbox.setStation('north', { scheme: 'http', secret: PHRASE });
    sandbox.setEndpoint('own', { url: () => url, station: 'north' });
  });
  after(() => sandbox.close());

  const run = ExampleRun.ofGroup('14', async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}/remote-monitoring/example-14`;
    return {
      port,
      beside: { alarm: 'alarm', further: 'further', health: 'health', refused: 'refused', answer: 'answer' },
      changes: { station: { credentials: { secret: PHRASE } }, post: { url } },
    };
  });

  const raise = (order: Parameters<Sandbox['raiseAlarm']>[0] = {}): string =>
    sandbox.raiseAlarm(order).messageId;
  const arrived = (probe: string, messageId: string): Promise<Message> =>
    run.nodeRed.message(probe, (msg) => webhookOf(msg).messageId === messageId);

  it('an alarm of the service is proven, answered 200 and goes to the panel', async () => {
    const messageId = raise();
    const msg = await arrived('alarm', messageId);
    assert.equal(webhookOf(msg).proof, 'hmac');
    const attempts = async (): Promise<Delivery['attempts']> => {
      const deliveries = (await (await fetch(`${sandbox.url}/sandbox/deliveries`)).json()) as Delivery[];
      return deliveries.find((each) => each.messageId === messageId)?.attempts ?? [];
    };
    // The sandbox notes an attempt once it has read the answer.
    await eventually(async () => (await attempts()).length > 0, 'the note of the sandbox');
    assert.deepEqual(
      (await attempts()).map(({ status }) => status),
      [200],
    );
  });

  it('a health event does not', async () => {
    await arrived('health', raise({ eventClass: 'health' }));
  });

  it('a repeat and the end of an alarm are answered 200 and set nothing a second time', async () => {
    const message = alarmMessage();
    const { alarmId } = partOf(message, 'payload');
    const end = alarmMessage({ alarmId, eventEndTime: new Date().toISOString() });
    for (const each of [message, message, end]) assert.equal((await post(url, each, PHRASE)).status, 200);
    await arrived('further', String(end.messageId));
    await arrived('further', String(message.messageId));
    assert.equal(run.at('alarm', { alarmId: String(alarmId) }).length, 1);
  });

  it('a message with a wrong phrase is answered 401 and reaches no panel', async () => {
    const message = alarmMessage();
    assert.equal((await post(url, message, 'another phrase')).status, 401);
    await run.nodeRed.message('refused', (msg) => partOf(msg, 'payload').reason === 'bad-signature');
    assert.deepEqual(run.at('alarm', { messageId: String(message.messageId) }), []);
  });

  it('the button of the stranger shows an answer 401', async () => {
    await run.press('stranger');
    assert.equal((await run.nodeRed.message('answer')).statusCode, 401);
  });

  it('without a Secret Phrase nothing is taken for authentic', async () => {
    const bare = run.flow.map((node) => ({
      ...node,
      ...(node.type === 'rvm-cloud' && { url: 'http://127.0.0.1:9' }),
      ...(node.id === 'rvm-example-14-station' && { credentials: { secret: '' } }),
    }));
    await run.nodeRed.deploy(bare);
    const from = run.nodeRed.seen.length;
    assert.equal((await post(url, alarmMessage(), PHRASE)).status, 500);
    assert.deepEqual(run.nodeRed.at('alarm', from), []);
  });
});
