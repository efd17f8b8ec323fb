import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { NEEDED_NODE, nodeIsNewEnough, saferNode } from '../../nodes/support/register';
import { alarmMessage, answerTo, post } from '../support/webhook/alarm-message';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import {
  NodeRed,
  ROOT,
  entrance,
  inject,
  typesOfPackage,
  type FlowNode,
  otherNode,
} from '../support/node-red/node-red';

function list(): FlowNode {
  return { id: 'list', type: 'rvm-list-devices', z: 'tab', station: 'station', x: 0, y: 0, wires: [[], []] };
}

describe('the package on the oldest supported Node.js, 22.19.0', () => {
  for (const version of NODE_RED_VERSIONS) {
    it(`proves and delivers an alarm in Node-RED ${version}`, async function () {
      const node = otherNode(this, '22.19.0');
      const nodeRed = await NodeRed.start({ version, node });
      try {
        await nodeRed.deploy(webhookFlow());
        assert.equal((await post(nodeRed.url + PATH, alarmMessage(), PHRASE)).status, 200);
        await nodeRed.message('alarms');
        assert.equal(nodeRed.log.match(/can hold up Node\.js 22\.19\.0 .* 22\.22\.2 or newer/g)?.length, 1);
        const settings = (await (await fetch(`${nodeRed.url}/settings`)).json()) as Record<string, unknown>;
        assert.equal(settings['rvmWebhookInSaferNode'], '22.22.2');
      } finally {
        await nodeRed.stopAndRemove();
      }
    });
  }
});

describe('the package on a Node.js that is too old', () => {
  it('goes by the releases that package.json names', () => {
    const { engines } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      engines: { node: string };
    };
    assert.equal(engines.node, `>=${NEEDED_NODE}`);
    for (const version of ['9.1.0', '20.20.2', '22.9.0', '22.18.0'])
      assert.equal(nodeIsNewEnough(version), false, version);
    for (const version of ['22.19.0', '22.100.0', '24.0.0', '30.1.2'])
      assert.ok(nodeIsNewEnough(version), version);
  });

  it('names the release that closes the hole of JSON.parse, where the one that runs has it', () => {
    for (const [version, safer] of [
      ['22.19.0', '22.22.2'],
      ['22.22.1', '22.22.2'],
      ['22.22.2', undefined],
      ['22.22.10', undefined],
      ['23.11.1', '24.14.1'],
      ['24.0.0', '24.14.1'],
      ['24.14.1', undefined],
      ['25.8.1', '25.8.2'],
      ['25.8.2', undefined],
      ['26.0.0', undefined],
    ] as const)
      assert.equal(saferNode(version), safer, version);
  });

  it('cuts nothing for a webhook in without a path', async function () {
    const node = otherNode(this, '20.20.2');
    const nodeRed = await NodeRed.start({ version: '4.1', node, settings: "httpNodeRoot: '/api'," });
    try {
      await nodeRed.deploy(webhookFlow({ webhook: { path: '' } }));
      assert.equal((await fetch(`${nodeRed.url}/api/`)).status, 404);
    } finally {
      await nodeRed.stopAndRemove();
    }
  });

  it('cuts alarms while flows stand still for want of a type, too', async function () {
    const node = otherNode(this, '20.20.2');
    const missing = { id: 'missing', type: 'type-that-nobody-has', name: '' };
    const flows = webhookFlow({}, missing);
    const nodeRed = await NodeRed.start({ version: '4.1', node, flows, waitsForTypes: true });
    try {
      assert.equal(await answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE), 'cut');
    } finally {
      await nodeRed.stopAndRemove();
    }
  });

  for (const old of ['20.20.2', '22.18.0']) {
    it(`registers every type on ${old}, shows what it needs, refuses messages with CONFIG_MISSING, and cuts alarms`, async function () {
      const node = otherNode(this, old);
      const nodeRed = await NodeRed.start({ version: '4.1', node, env: { RVM_TEST_PATH: PATH } });
      try {
        const webhook = { path: '${RVM_TEST_PATH}' };
        await nodeRed.deploy(webhookFlow({ webhook }, list(), ...entrance('in', 'list')));
        for (const id of ['webhook', 'list']) {
          await nodeRed.until(
            () => nodeRed.statuses(id).at(-1) === `needs Node.js ${NEEDED_NODE}`,
            `the status of ${id}`,
          );
        }
        assert.equal(await answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE), 'cut');
        await inject(nodeRed, 'in', {});
        const caught = await nodeRed.message('caught');
        assert.equal((caught.error as { code: string }).code, 'CONFIG_MISSING');
        const types = (await (
          await fetch(`${nodeRed.url}/nodes`, { headers: { Accept: 'application/json' } })
        ).json()) as {
          module: string;
          err?: string;
        }[];
        const ours = types.filter((set) => set.module === '@rvm/node-red-remote-monitoring');
        assert.equal(ours.length, typesOfPackage().length);
        assert.deepEqual(
          ours.filter((set) => set.err !== undefined),
          [],
        );
      } finally {
        await nodeRed.stopAndRemove();
      }
    });
  }
});
