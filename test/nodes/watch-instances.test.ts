import assert from 'node:assert/strict';
import { MuteServer } from '../support/network/servers';
import { DatabasePair } from '../support/cluster/database-pair';
import { freePort, NodeRed, type FlowNode } from '../support/node-red/node-red';
import { listenerNode, sharedFlow } from '../support/node-red/flows';
import { watch, WatchRun } from '../support/node-red/watch-run';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';

describe('a watch of two Node-RED on one inbox in PostgreSQL', () => {
  let database: DatabasePair;
  before(async function () {
    needs(this, 'postgres');
    database = await DatabasePair.start();
  });
  const [first, second] = [NodeRed.ofGroup(), NodeRed.ofGroup()];
  const runs = [new WatchRun(first, false), new WatchRun(second, false)] as const;
  after(() => database?.remove());

  const flow = (instanceName: string, webhook: Record<string, unknown> = {}, ...further: FlowNode[]) =>
    sharedFlow(database.connection, { inbox: { instanceName }, webhook }, ...watch(), ...further);

  const told = (what: string): number =>
    runs
      .flatMap(({ verdicts }) => verdicts.flatMap(({ findings }) => findings))
      .filter((each) => each.what === what).length;
  const last = (): string[][] => runs.map(({ kinds }) => kinds);

  it('pulses at each, by name, from the first pulse on', async () => {
    await Promise.all([runs[0].deploy(flow('one')), runs[1].deploy(flow('two'))]);
    await Promise.all(runs.map((run) => run.pulse()));
    assert.deepEqual(
      runs.map(({ pulses }) => pulses[0]?.['instance']),
      ['one', 'two'],
    );
  });

  it('tells once what one of them alone sees, holds both pulses, and tells the end where that one is dead', async () => {
    const port = await freePort();
    const other = await MuteServer.start(port);
    for (const run of runs) run.begin();
    await first.deploy(flow('one', { listener: 'listener' }, listenerNode({ port })));
    await eventually(() => last().flat().includes('listener-down'), 'the finding');
    // Whoever has written it down has told it.
    await eventually(async () => {
      const before = runs.map(({ pulses }) => pulses.length);
      await new Promise((resolve) => setTimeout(resolve, 3000));
      return runs.every(({ pulses }, index) => pulses.length === before[index]);
    }, 'both pulses to end');
    assert.equal(told('listener-down'), 1);
    await first.stop('SIGKILL');
    await eventually(() => runs[1].verdicts.at(-1)?.ok === true, 'the end, told by the other one');
    await runs[1].pulse();
    await other.close();
  });

  it('finds that no standby has what is acknowledged, once it was taken over, until there is a new one', async () => {
    runs[1].begin();
    await database.failOver();
    const { severity, text } = await runs[1].comes('no-standby');
    assert.equal(severity, 'fault');
    assert.match(text, /on one database server alone/);
    await database.renewStandby();
    await runs[1].goes('no-standby');
    await runs[1].pulse();
  });
});
