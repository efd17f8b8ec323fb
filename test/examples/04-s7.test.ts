import assert from 'node:assert/strict';
import { ExampleRun } from '../support/examples/example-run';
import { example, packagesFor } from '../support/examples/examples';
import { flowNode, functionNode, type FlowNode } from '../support/node-red/node-red';

/** In the place of s7 out: takes what is written, and completes or fails as that does. It was not run against a PLC. */
const WRITES = `global.get('probe')('written', msg);
if (global.get('plcIsAway') && msg.payload) {
  global.set('plcIsAway', false);
  throw new Error('not connected');
}
return null;`;

function withoutS7(nodes: FlowNode[]): FlowNode[] {
  const switchOff = `global.set('plcIsAway', true); msg.res._res.sendStatus(200);`;
  const others = nodes.filter(({ type }) => !type.startsWith('s7 '));
  const out = nodes.find(({ id }) => id === 'rvm-example-04-plc') ?? assert.fail('no s7 out');
  return [
    ...others,
    { ...out, type: 'function', func: WRITES, outputs: 1, libs: [], wires: [[]] },
    flowNode('away', 'http in', [['off']], { url: '/away', method: 'post' }),
    functionNode('off', switchOff),
  ];
}

describe('example 04, alarm to a PLC over S7, with a function in the place of s7 out', () => {
  const run = ExampleRun.ofGroup('04', {
    palette: [],
    beside: { alarm: 'came', done: 'confirmed', down: 'down', unsettled: 'not settled' },
    // Its seconds are shorter.
    changes: { tick: { repeat: '0.2' }, alarm: { hold: 2 } },
    edit: withoutS7,
  });

  afterEach(() => assert.deepEqual(run.nodeRed.at('not settled'), []));

  async function settled(alarm: { messageId: string }): Promise<void> {
    const isConfirmed = (): boolean => run.at('confirmed', alarm).some(({ payload }) => payload === true);
    await run.nodeRed.until(isConfirmed, 'the settlement');
  }
  const writtenSince = (count: number): unknown[] =>
    run.nodeRed
      .at('written')
      .slice(count)
      .map(({ payload }) => payload);

  /** Waits until nothing is to be released any more, and counts what was written. */
  async function quiet(): Promise<number> {
    await run.nodeRed.until(() => run.nodeRed.at('written').at(-1)?.payload === false, 'the release');
    return run.nodeRed.at('written').length;
  }

  it('names the node types and properties of the package, and a variable of its endpoint', () => {
    assert.deepEqual(packagesFor('04'), ['node-red-contrib-s7']);
    const nodes = example('04');
    const out = nodes.find(({ type }) => type === 's7 out') ?? assert.fail();
    const endpoint = nodes.find(({ type }) => type === 's7 endpoint') ?? assert.fail();
    assert.equal(out.endpoint, endpoint.id);
    assert.deepEqual(endpoint.vartable, [{ addr: 'DB1,X0.0', name: out.variable }]);
  });

  it('releases the bit after a start, once', async () => {
    await quiet();
    assert.deepEqual(writtenSince(0), [false]);
  });

  it('writes the bit for an alarm, settles it when that is complete, and releases it by time', async () => {
    const before = await quiet();
    const alarm = await run.raise();
    await settled(alarm);
    await quiet();
    assert.deepEqual(writtenSince(before), [true, false]);
    assert.equal(run.at('came', alarm).length, 1);
  });

  it('writes it once for an alarm and the message that tells of its end', async () => {
    const before = await quiet();
    await run.end('came', await run.raise({ seconds: 1 }));
    await quiet();
    assert.deepEqual(writtenSince(before), [true, false]);
  });

  it('writes again what has failed, and settles nothing before', async () => {
    assert.equal((await fetch(`${run.nodeRed.url}/away`, { method: 'POST' })).status, 200);
    const before = await quiet();
    const alarm = await run.raise();
    await settled(alarm);
    await quiet();
    assert.deepEqual(writtenSince(before), [true, true, false]);
    assert.equal(run.nodeRed.at('down').length, 1);
  });
});
