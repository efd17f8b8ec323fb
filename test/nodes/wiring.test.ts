import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeInitializer, NodeMessage } from 'node-red';
import helper, { type CompleteEvent } from 'node-red-node-test-helper';
import { ROOT } from '../support/node-red/node-red';

/** Without *view link*, which needs a server of Node-RED, and the test helper has none. */
const CALLERS = [
  'rvm-list-devices',
  'rvm-get-device',
  'rvm-get-picture',
  'rvm-get-clip',
  'rvm-get-rtsp',
  'rvm-ptz',
  'rvm-snapshot',
  'rvm-request',
];
const NODES = ['rvm-cloud', 'rvm-central-station', ...CALLERS].map(
  (type) => require(path.join(ROOT, 'dist', `${type}.js`)) as NodeInitializer,
);

interface Outcome {
  output: 'result' | 'failed' | 'caught';
  msg: NodeMessage;
}

/** What must not come cannot be waited for: time for the node to say again that it is done, in milliseconds. */
const WINDOW = 50;

/** Wires one node, sends it one message, and tells where it came out and how often the node said it was done. */
async function run(
  node: Record<string, unknown>,
  msg: NodeMessage,
): Promise<Outcome & { completions: CompleteEvent[] }> {
  const flows = [
    { id: 'tab', type: 'tab', label: 'test' },
    { id: 'under-test', z: 'tab', wires: [['result'], ['failed']], ...node },
    { id: 'result', z: 'tab', type: 'helper' },
    { id: 'failed', z: 'tab', type: 'helper' },
    { id: 'catch-all', z: 'tab', type: 'catch', scope: null, wires: [['caught']] },
    { id: 'caught', z: 'tab', type: 'helper' },
  ];
  await helper.load([...NODES, require('@node-red/nodes/core/common/25-catch.js') as NodeInitializer], flows);
  const completions: CompleteEvent[] = [];
  const ended = new EventEmitter();
  helper._RED.hooks.add('onComplete.test', (event) => {
    if (event.node.id !== 'under-test') return;
    completions.push(event);
    ended.emit('done');
  });
  const outcomes: Outcome[] = [];
  for (const output of ['result', 'failed', 'caught'] as const) {
    helper.getNode(output)?.on('input', (seen: NodeMessage) => {
      outcomes.push({ output, msg: seen });
      ended.emit('out');
    });
  }
  const whole = Promise.all([once(ended, 'out'), once(ended, 'done')]);
  helper.getNode('under-test')?.receive(msg);
  await whole;
  await delay(WINDOW);
  const [outcome, ...others] = outcomes;
  assert.ok(outcome !== undefined);
  assert.deepEqual(others, [], 'the message comes out once');
  return { ...outcome, completions };
}

function codeOf(msg: NodeMessage): unknown {
  return (msg.error as { code?: string }).code;
}

describe('the wiring of a node that calls the service', () => {
  before(async () => {
    helper.init(require.resolve('node-red'));
    await helper.startServer();
  });
  afterEach(async () => {
    helper._RED.hooks.remove('*.test');
    await helper.unload();
  });
  after(() => helper.stopServer());

  for (const type of CALLERS) {
    it(`${type} sends a failure to output 2 where that is wired, and is done once, without an error`, async () => {
      const { output, msg, completions } = await run({ type }, { topic: 'mine' });
      assert.equal(output, 'failed');
      assert.equal(codeOf(msg), 'CONFIG_MISSING');
      assert.equal(msg.topic, 'mine');
      assert.deepEqual(
        completions.map((event) => event.error),
        [undefined],
      );
    });

    it(`${type} hands a failure to Catch nodes where output 2 is not wired, and is done once, with the error`, async () => {
      const { output, msg, completions } = await run({ type, wires: [['result'], []] }, {});
      assert.equal(output, 'caught');
      assert.equal(codeOf(msg), 'CONFIG_MISSING');
      assert.equal(completions.length, 1);
      assert.ok(completions[0]?.error instanceof Error);
    });
  }
});
