import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  ExampleRun,
  isRaiser,
  SandboxOfExample,
  withChanges,
  letSandboxOut,
  trialButton,
} from '../support/examples/example-run';
import { byLane } from '../support/suite/lanes';
import { example, EXAMPLES } from '../support/examples/examples';
import { inboxesOpen } from '../support/node-red/inboxes-open';
import { entrance, inject, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { standingTimers, timerStands } from '../support/node-red/node-red-time';
import { eventually } from '../support/time/patience';

/** By the digits of an example that reaches out: the nodes by which an alarm leaves it. */
const REACHING_OUT: Record<string, readonly string[]> = {
  '03': ['plc'],
  '04': ['plc'],
  '05': ['new'],
  '06': ['out-state', 'out-last'],
  '07': ['mail', 'picture', 'clip'],
  '08': ['alarm', 'ptz'],
  '16': ['alarm', 'guard'],
  '17': ['alarm', 'clip'],
};
const DIGITS = Object.keys(REACHING_OUT).toSorted();
const TRIAL_SECONDS = 600;
/** One that example 08 moves. */
const CAMERA = 'SANDBOX Gate 1';
/** It would keep a trial, were it not ended. */
const ON_DISK = `contextStorage: { default: { module: 'localfilesystem' } },`;
/** Of packages of others: nobody needs them where probes stand in the place of their nodes. */
const FOREIGN = ['s7 endpoint', 'mqtt-broker', 'mqtt in'];
/** One sandbox for all, so that each of its alarms comes to each example. */
const CLOUD = 'rvm-example-03-cloud';

/** An example with probes in the place of all that reaches out, and of what shows that an alarm is held back. */
function flowOf(digits: string): FlowNode[] {
  const id = (name: string): string => `rvm-example-${digits}-${name}`;
  const asProbe = (node: FlowNode, name: string): FlowNode => ({ ...probe(name, id('tab')), id: node.id });
  // It settles what it gets, as if that had arrived.
  const asExit = ({ id: exit, z }: FlowNode): FlowNode => {
    const wires = [[`leaves ${exit}`], [`leaves ${exit}`]];
    return { id: exit, type: 'rvm-settle', z, x: 0, y: 0, wires };
  };
  const leaves = new Set(REACHING_OUT[digits]?.map(id));
  return withChanges(example(digits), { station: { cloud: CLOUD } })
    .filter((node) => !FOREIGN.includes(node.type) && (node.type !== 'rvm-cloud' || node.id === CLOUD))
    .map((node) => {
      if (leaves.has(node.id)) return asExit(node);
      return node.id === id('held') ? asProbe(node, `held ${digits}`) : node;
    });
}

describe('alarms of the sandbox and the examples that reach out', () => {
  const tab = 'rvm-example-03-tab';
  const open = { id: 'open', type: 'rvm-list-events', z: tab, state: 'open', x: 0, y: 0 };
  const exits = DIGITS.flatMap((digits) =>
    (REACHING_OUT[digits] ?? []).map((name) => `rvm-example-${digits}-${name}`),
  );
  const flow = [
    ...DIGITS.flatMap(flowOf),
    ...entrance('ask', 'open').map((node) => ({ ...node, z: tab })),
    { ...open, wires: [['listed'], []] },
    probe('listed', tab),
    ...exits.map((exit) => probe(`leaves ${exit}`, tab)),
  ];
  const nodeRed = NodeRed.ofGroup({ settings: standingTimers(TRIAL_SECONDS * 1000) + ON_DISK });
  let sandbox: SandboxOfExample;
  before(deploy);

  async function deploy(): Promise<void> {
    const from = nodeRed.log.length;
    await nodeRed.deploy(flow);
    sandbox = await SandboxOfExample.of(nodeRed, from);
    await sandbox.until(
      ({ stations }) => stations.filter(({ endpoints }) => endpoints > 0).length === DIGITS.length,
      'all endpoints',
    );
    await inboxesOpen(nodeRed);
  }

  async function letOut(): Promise<void> {
    const from = nodeRed.log.length;
    for (const digits of DIGITS) await letSandboxOut(nodeRed, example(digits));
    await timerStands(nodeRed, TRIAL_SECONDS * 1000, from);
  }

  /** Raises an alarm that is known by its name, as far as that goes. */
  async function raise(): Promise<string> {
    const eventName = `Fence ${randomUUID().slice(0, 8)}`;
    await sandbox.raise({ camera: CAMERA, eventName });
    return eventName;
  }

  const has = (name: string, eventName: string): boolean =>
    nodeRed.at(name).some((msg) => JSON.stringify(msg).includes(eventName));

  /** Nothing leaves of an alarm, and nothing of it comes again. */
  async function isHeldBack(): Promise<void> {
    const alarm = await raise();
    for (const digits of DIGITS)
      await nodeRed.until(() => has(`held ${digits}`, alarm), `the alarm that ${digits} holds back`);
    await eventually(isNothingOpen, 'the settlement');
    assert.deepEqual(
      exits.filter((exit) => has(`leaves ${exit}`, alarm)),
      [],
    );
  }

  async function isNothingOpen(): Promise<boolean> {
    const count = nodeRed.at('listed').length;
    await inject(nodeRed, 'ask', {});
    await nodeRed.until(() => nodeRed.at('listed').length > count, 'the list');
    const { payload } = nodeRed.at('listed').at(-1) ?? {};
    return (payload as unknown[]).length === 0;
  }

  it('each has one button that lets them out for a trial, and no other example has', () => {
    assert.deepEqual(
      EXAMPLES.filter((name) => trialButton(example(name)) !== undefined).map((name) => name.slice(0, 2)),
      DIGITS,
    );
  });

  it('stay in the building, settled', isHeldBack);

  it('leave it after a click, until the time of the trial is over', async () => {
    await letOut();
    const alarm = await raise();
    for (const exit of exits) await nodeRed.until(() => has(`leaves ${exit}`, alarm), `the alarm at ${exit}`);
    await nodeRed.advance(TRIAL_SECONDS);
    await isHeldBack();
  });

  it('stay in it after a deploy in the midst of a trial', async () => {
    await letOut();
    await deploy();
    await isHeldBack();
  });
});

describe('the button of an example whose sandbox raises an alarm a minute', () => {
  const SELDOM = EXAMPLES.filter((name) => example(name).some(isRaiser)).map((name) => name.slice(0, 2));

  it('is in each of them, and in those alone', () => {
    const raisingSeldom = DIGITS.filter((digits) => example(digits).some((node) => node.sandboxEvents === 1));
    assert.deepEqual(SELDOM, raisingSeldom);
  });

  const [first = '', ...others] = SELDOM;
  for (const digits of byLane([], [first], others))
    it(`raises one at once in ${digits}`, async () => {
      const run = await ExampleRun.start(digits, {
        beside: { gate: 'came' },
        changes: { raise: {} },
        closed: true,
      });
      try {
        await run.press('trial');
        await run.nodeRed.message('came', ({ webhook }) => webhook !== undefined);
      } finally {
        await run.stop();
      }
    });
});
