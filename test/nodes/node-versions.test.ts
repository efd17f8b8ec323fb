import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { neededNode, nodeIsNewEnough } from '../../nodes/support/node-version';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { NodeRed, ROOT, entrance, inject, typesOfPackage, type FlowNode } from '../support/node-red/node-red';
import { otherNode } from '../support/node-red/other-node';

function list(): FlowNode {
  return { id: 'list', type: 'rvm-list-devices', z: 'tab', station: 'station', x: 0, y: 0, wires: [[], []] };
}

describe('the package on a Node.js that is too old', () => {
  it('goes by the releases that package.json names, in its nodes and in its scripts', () => {
    const { engines } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      engines: { node: string };
    };
    const named = engines.node.split('||').map((line) => line.replaceAll(/[^\d.]/g, ''));
    for (const release of named) {
      const [major = 0, minor = 0, patch = 0] = release.split('.').map(Number);
      assert.ok(nodeIsNewEnough(release), release);
      assert.ok(nodeIsNewEnough(`${major}.${minor + 1}.0`));
      assert.equal(nodeIsNewEnough(`${major}.${minor}.${patch - 1}`), false);
      assert.equal(nodeIsNewEnough(`${major}.${minor - 1}.9`), false);
      assert.equal(neededNode(`${major}.0.0`), release);
    }
    assert.deepEqual(
      ['20.20.2', '23.11.1', '26.0.0', '30.1.2'].map((version) => nodeIsNewEnough(version)),
      [false, false, true, true],
    );
    assert.equal(neededNode('23.11.1'), '24.14.1');
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

  for (const [old, needed] of [
    ['20.20.2', '22.22.2'],
    ['22.22.1', '22.22.2'],
    ['24.14.0', '24.14.1'],
  ] as const) {
    it(`registers every type on ${old}, shows what it needs, refuses messages with CONFIG_MISSING, and cuts alarms`, async function () {
      const node = otherNode(this, old);
      const nodeRed = await NodeRed.start({ version: '4.1', node, env: { RVM_TEST_PATH: PATH } });
      try {
        const webhook = { path: '${RVM_TEST_PATH}' };
        await nodeRed.deploy(webhookFlow({ webhook }, list(), ...entrance('in', 'list')));
        for (const id of ['webhook', 'list']) {
          await nodeRed.until(
            () => nodeRed.statuses(id).at(-1) === `needs Node.js ${needed}`,
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
