import assert from 'node:assert/strict';
import {
  boardFlow,
  door,
  raiseAtBoard,
  saidOf,
  saidWhen,
  trailOf,
  trailWhen,
  type Trail,
} from '../../support/examples/board';
import { packagesFor } from '../../support/examples/examples';
import { inboxesOpen } from '../../support/node-red/inboxes-open';
import { inject, NodeRed, type FlowNode } from '../../support/node-red/node-red';
import { assertPause, eventually } from '../../support/time/patience';

const SECONDS = 3;

/** The board, whose operators act by `hand` as a browser does. */
function flow(): FlowNode[] {
  return [...boardFlow({ escalateAfter: SECONDS / 60 }), ...door('hand', 'rvm-example-10-operator')];
}

describe('example 10, an alarm that nobody takes', () => {
  const nodeRed = NodeRed.ofGroup({ palette: packagesFor('10') }, flow);
  before(() => inboxesOpen(nodeRed));

  const texts = (): string[] =>
    nodeRed.at('escalation').map(({ payload }) => (payload as { text: string }).text);
  const escalatedOf = (rule: string): string[] => texts().filter((text) => text.includes(`: ${rule},`));

  const raise = (rule: string): Promise<Trail> =>
    raiseAtBoard(nodeRed, rule, { alarmId: `alarm of ${rule}` });

  /** Until the board has the alarm, what is sent of it is dropped. */
  async function act(rule: string, sent: Record<string, unknown>): Promise<void> {
    await eventually(
      async () => {
        await inject(nodeRed, 'hand', { key: `example-10 alarm of ${rule}`, by: 'Anna', ...sent });
        const row = (await trailOf(nodeRed)).find((each) => each.rule === rule);
        return row !== undefined && saidOf(row).some(([by]) => by === 'Anna');
      },
      `a hand at ${rule}`,
      100,
    );
  }

  it('leaves by the wire of the pager once, with one line of text, and stands in the audit trail', async () => {
    await raise('Forgotten');
    await nodeRed.message('escalation');
    assert.match(texts()[0] ?? '', /^Nobody has taken it for 0 min: Forgotten, Gate 1, Harbour Depot$/);
    assert.deepEqual(await saidWhen(nodeRed, 'Forgotten'), [['alarm board', 'escalated']]);
  });

  it('does not where somebody has claimed it, and does where it was released and left', async () => {
    await raise('Claimed');
    await act('Claimed', { topic: 'claim', from: '' });
    await raise('Released');
    await act('Released', { topic: 'claim', from: '' });
    await inject(nodeRed, 'hand', { key: 'example-10 alarm of Released', by: 'Anna', topic: 'release' });
    await nodeRed.until(() => escalatedOf('Released').length > 0, 'its escalation');
    assert.deepEqual(escalatedOf('Claimed'), []);
  });

  it('leaves again where somebody took the alarm and let it go, so long after that', async () => {
    await raise('Let go');
    const escalated = (count: number): Promise<Trail> =>
      trailWhen(nodeRed, 'Let go', ([row]) => row && timesOf(row, 'escalated').length === count);
    await escalated(1);
    await act('Let go', { topic: 'claim', from: '' });
    await inject(nodeRed, 'hand', { key: 'example-10 alarm of Let go', by: 'Anna', topic: 'release' });
    const trail = await escalated(2);
    const [released = NaN] = timesOf(trail, 'released');
    assertPause((timesOf(trail, 'escalated')[1] ?? NaN) - released, SECONDS * 1000);
    assert.equal(escalatedOf('Let go').length, 2);
  });

  it('does not again, whatever comes, nor after a kill', async () => {
    assert.equal(escalatedOf('Forgotten').length, 1);
    await trailWhen(nodeRed, 'Released', ([row]) => row && timesOf(row, 'escalated').length > 0);
    await nodeRed.restart('SIGKILL');
    // One that is younger escalates: the others would have before it.
    await raise('Later');
    await nodeRed.message('escalation');
    assert.deepEqual(
      texts().map((text) => text.split(': ')[1]?.split(',')[0]),
      ['Later'],
    );
  });
});

/** When it was said of an event, in milliseconds. */
function timesOf({ history }: Trail, said: string): number[] {
  return history.filter(({ note }) => note === said).map(({ time }) => Date.parse(time));
}
