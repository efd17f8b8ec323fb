import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { NEEDED_NODE, nodeIsNewEnough, saferNode } from '../../nodes/support/register';
import { alarmMessage, answerTo, signature } from '../support/webhook/alarm-message';
import { exchange, requestText, statusesIn } from '../webhook/receiver-under-test';
import { codeOf, node, raise, shows } from '../support/node-red/alarms-through';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import {
  NodeRed,
  ROOT,
  entrance,
  inject,
  otherNode,
  typesOfPackage,
  type StartOptions,
} from '../support/node-red/node-red';

async function on(
  test: Mocha.Context,
  release: string,
  options: StartOptions,
  deed: (nodeRed: NodeRed) => Promise<void>,
): Promise<void> {
  await NodeRed.with({ ...options, node: otherNode(test, release) }, async (nodeRed) => {
    await deed(nodeRed);
  });
}

describe('the package on the oldest supported Node.js, 22.19.0', () => {
  for (const version of NODE_RED_VERSIONS)
    it(`proves and delivers an alarm in Node-RED ${version}`, function () {
      return on(this, '22.19.0', { version }, async (nodeRed) => {
        await nodeRed.deploy(webhookFlow());
        await raise(nodeRed);
        assert.equal(nodeRed.log.match(/can hold up Node\.js 22\.19\.0 .* 22\.22\.2 or newer/g)?.length, 1);
        const settings = (await (await fetch(`${nodeRed.url}/settings`)).json()) as Record<string, unknown>;
        assert.equal(settings['rvmWebhookInSaferNode'], '22.22.2');
      });
    });

  it('takes an alarm that asks for another protocol', function () {
    return on(this, '22.19.0', {}, async (nodeRed) => {
      await nodeRed.deploy(webhookFlow());
      const lines = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'];
      const body = JSON.stringify(alarmMessage());
      const text = requestText(body, [...lines, `Authorization: ${signature(body, PHRASE)}`], PATH);
      const socket = net.connect(nodeRed.port, '127.0.0.1');
      assert.deepEqual(statusesIn(await exchange(socket, [text], /"ok":true/)), [200]);
    });
  });
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
    for (const [safer, ...versions] of [
      ['22.22.2', '22.19.0', '22.22.1'],
      ['24.14.1', '23.11.1', '24.0.0'],
      ['25.8.2', '25.8.1'],
      [undefined, '22.22.2', '22.22.10', '24.14.1', '25.8.2', '26.0.0'],
    ] as const)
      for (const version of versions) assert.equal(saferNode(version), safer, version);
  });

  it('cuts nothing for a webhook in without a path', function () {
    const options = { version: '4.1', settings: "httpNodeRoot: '/api'," } as const;
    return on(this, '20.20.2', options, async (nodeRed) => {
      await nodeRed.deploy(webhookFlow({ webhook: { path: '' } }));
      assert.equal((await fetch(`${nodeRed.url}/api/`)).status, 404);
    });
  });

  it('cuts alarms while flows stand still for want of a type, too', function () {
    const flows = webhookFlow({}, { id: 'missing', type: 'type-that-nobody-has', name: '' });
    return on(this, '20.20.2', { version: '4.1', flows, flowsWait: true }, async (nodeRed) => {
      assert.equal(await answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE), 'cut');
    });
  });

  for (const old of ['20.20.2', '22.18.0'])
    it(`registers every type on ${old}, shows what it needs, refuses messages with CONFIG_MISSING, and cuts alarms`, function () {
      return on(this, old, { version: '4.1', env: { RVM_TEST_PATH: PATH } }, async (nodeRed) => {
        const list = node('rvm-list-devices', { id: 'list', station: 'station', wires: [[], []] });
        const webhook = { path: '${RVM_TEST_PATH}' };
        await nodeRed.deploy(webhookFlow({ webhook }, list, ...entrance('in', 'list')));
        for (const id of ['webhook', 'list']) await shows(nodeRed, `needs Node.js ${NEEDED_NODE}`, id);
        assert.equal(await answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE), 'cut');
        await inject(nodeRed, 'in', {});
        assert.equal(codeOf(await nodeRed.message('caught')), 'CONFIG_MISSING');
        const headers = { Accept: 'application/json' };
        const sets = (await (await fetch(`${nodeRed.url}/nodes`, { headers })).json()) as {
          module: string;
          err?: string;
        }[];
        const ours = sets.filter(({ module }) => module === '@rvm/node-red-remote-monitoring');
        assert.deepEqual(
          ours.map(({ err }) => err),
          typesOfPackage().map(() => undefined),
        );
      });
    });
});
