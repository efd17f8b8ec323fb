import assert from 'node:assert/strict';
import type { HistoryEntry, TallyRow } from '../../lib/inbox/model';
import { factsOf, raise as raiseIn, type Message } from '../support/node-red/alarms-through';
import { act, tokenOf, USERS, inboxesOpen } from '../support/node-red/inboxes-open';
import { webhookFlow } from '../support/node-red/flows';
import {
  entrance,
  flowNode,
  inject,
  NodeRed,
  probe,
  probes,
  type FlowNode,
} from '../support/node-red/node-red';

function flow(): FlowNode[] {
  const node = (id: string, type: string, properties: Message): FlowNode =>
    flowNode(id, type, [[`${id}-done`], [`${id}-failed`]], properties);
  const settle = {
    name: 'to the panel',
    action: 'order',
    actionType: 'msg',
    reason: 'the reason of the node',
  };
  return webhookFlow(
    { webhook: { handledWhen: 'settled' } },
    ...entrance('found', 'settle'),
    node('settle', 'rvm-settle', { ...settle, delivery: 'id', deliveryType: 'msg' }),
    ...Object.entries({ rows: { history: true }, counts: { groupBy: 'site' } }).flatMap(([id, how]) => [
      ...entrance(`ask-${id}`, id),
      node(id, 'rvm-list-events', { state: 'all', ...how }),
      probe(`${id}-done`),
    ]),
    ...probes('settle-done', 'settle-failed'),
  );
}

describe('what a person found', () => {
  const nodeRed = NodeRed.ofGroup({ settings: USERS });
  let token: string;
  before(async () => {
    await nodeRed.deploy(flow(), 'full', '', await tokenOf(nodeRed, 'admin'));
    token = await tokenOf(nodeRed, 'operator');
    await inboxesOpen(nodeRed);
  });

  const raise = async (site: string) => factsOf(await raiseIn(nodeRed, { locationName: site })).deliveryId;

  async function settle(id: string, found: Message): Promise<'settle-done' | 'settle-failed'> {
    const count = (): number => nodeRed.at('settle-done').length + nodeRed.at('settle-failed').length;
    const [before, failed] = [count(), nodeRed.at('settle-failed').length];
    await inject(nodeRed, 'found', { order: 'done', id, ...found });
    await nodeRed.until(() => count() > before, 'the settlement');
    return nodeRed.at('settle-failed').length > failed ? 'settle-failed' : 'settle-done';
  }

  const listed = async <Row>(id: 'rows' | 'counts'): Promise<Row[]> =>
    (await nodeRed.next(`${id}-done`, () => inject(nodeRed, `ask-${id}`, {}))).payload as Row[];

  const countsOf = async (site: string): Promise<TallyRow | undefined> =>
    (await listed<TallyRow>('counts')).find(({ group }) => group === site);

  async function historyOf(id: string): Promise<HistoryEntry[]> {
    const rows = await listed<{ deliveryId: string; history: HistoryEntry[] }>('rows');
    return rows.find(({ deliveryId }) => deliveryId === id)?.history ?? assert.fail('it is not listed');
  }

  it('is kept with the event, and counted, with the node that settled it', async () => {
    const id = await raise('Harbour');
    assert.equal(await settle(id, { verdict: 'false', note: 'a cat', by: 'Anna' }), 'settle-done');
    const history = await historyOf(id);
    const of = (name: string): HistoryEntry | undefined => history.find(({ step }) => step === name);
    assert.partialDeepStrictEqual(of('verdict'), { verdict: 'false', note: 'a cat', by: 'Anna' });
    assert.equal(of('settled')?.by, 'to the panel');
    assert.partialDeepStrictEqual(await countsOf('Harbour'), { events: 1, alarms: 1, settled: 1, false: 1 });
  });

  it('may come once the event is settled, and replaces what was found before', async () => {
    const id = await raise('Yard');
    for (const found of [{}, { verdict: 'false' }, { verdict: 'real' }])
      assert.equal(await settle(id, found), 'settle-done');
    assert.partialDeepStrictEqual(await countsOf('Yard'), { settled: 1, real: 1, false: 0 });
  });

  it('is refused where it is neither real nor false, before anything is settled', async () => {
    const id = await raise('Gate');
    assert.equal(await settle(id, { verdict: 'maybe' }), 'settle-failed');
    const { error } = nodeRed.at('settle-failed').at(-1) as { error: { code: string; message: string } };
    assert.equal(error.code, 'BAD_INPUT');
    assert.match(error.message, /must be the text real or false/);
    assert.equal((await historyOf(id)).at(-1)?.step, 'delivered');
  });

  it('is no remark where the flow carries something else under that name, which keeps no event open', async () => {
    const id = await raise('Roof');
    assert.equal(await settle(id, { note: { text: 'x' }, by: ['x'], verdict: null }), 'settle-done');
    const steps = (await historyOf(id)).map(({ step }) => step);
    assert.deepEqual(steps, ['received', 'delivered', 'settled']);
  });

  it('does not take the place of the reason of a rejection; and who discards it in the sidebar is told', async () => {
    const id = await raise('Hall');
    await settle(id, { order: 'reject', note: 'a remark' });
    await act(nodeRed, 'dead-letters', { deliveryId: id, action: 'discard' }, token);
    const history = await historyOf(id);
    const of = (name: string): HistoryEntry | undefined => history.find(({ step }) => step === name);
    assert.equal(of('rejected')?.reason, 'the reason of the node');
    assert.equal(of('verdict')?.note, 'a remark');
    assert.equal(of('discarded')?.by, 'operator');
  });
});
