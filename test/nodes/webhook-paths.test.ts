import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { alarmMessage, answerTo, post } from '../support/webhook/alarm-message';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';
import { NodeRed } from '../support/node-red/node-red';
import { whileTimeFlies } from '../support/node-red/node-red-time';

for (const version of NODE_RED_VERSIONS) {
  describe(`the path of webhook in on Node-RED ${version}`, () => {
    let nodeRed: NodeRed;

    before(async () => {
      nodeRed = await NodeRed.start({ version });
    });
    after(() => nodeRed.stopAndRemove());

    for (const own of ['/flows', '/flow/abc', 'settings', '/comms', '/auth/token', '/nodes/', '/red/x']) {
      it(`is not ${own}, which belongs to the editor, and says so`, async () => {
        await nodeRed.deploy(webhookFlow({ webhook: { path: own } }));
        await nodeRed.until(() => lastStatus() === 'status.pathReserved', 'the status');
        assert.equal((await fetch(`${nodeRed.url}/flows`)).status, 200);
        await nodeRed.logged(/would lock you out/);
      });
    }

    for (const own of ['/with space', '/ä', '/a?b=c', '/a#b', '/a/../b', '/.', '/a%20b', '/{b}']) {
      it(`is not ${own}, by which no request can come, and says so`, async () => {
        await nodeRed.deploy(webhookFlow({ webhook: { path: own } }));
        await nodeRed.until(() => lastStatus() === 'status.pathImpossible', 'the status');
      });
    }

    for (const own of [
      '/remote-monitoring/view',
      'remote-monitoring//view/a',
      '/remote-monitoring/live/',
      '/remote-monitoring/ready',
    ]) {
      it(`is not ${own}, where other pages of the package are, and says so`, async () => {
        await nodeRed.deploy(webhookFlow({ webhook: { path: own } }));
        await nodeRed.until(() => lastStatus() === 'status.pathKept', 'the status');
        await nodeRed.logged(/are no webhook paths/);
      });
    }

    for (const own of [
      '/alarms',
      'no-slash/in-front',
      '/flows-of-alarms',
      '/a/flows',
      '/a.b/..c/~d',
      '/remote-monitoring/viewer',
      '/other/remote-monitoring/view',
    ]) {
      it(`may be ${own}`, async () => {
        await nodeRed.deploy(webhookFlow({ webhook: { path: own } }));
        const url = `${nodeRed.url}/${own.replace(/^\//, '')}`;
        assert.equal((await post(url, alarmMessage(), PHRASE)).status, 200);
      });
    }

    it('is not taken by its text while it names a variable that is not set', async () => {
      await nodeRed.deploy(webhookFlow({ webhook: { path: '/${RVM_NO_PATH}' } }));
      await nodeRed.deploy(webhookFlow({ webhook: { path: '${RVM_NO_PATH}' } }));
      await nodeRed.until(() => /RVM_NO_PATH is not set/.test(lastStatus()), 'the status');
    });

    it('stays, and what comes is cut and not refused, while a variable of another property is not set', async () => {
      await nodeRed.deploy(webhookFlow({ webhook: { publicUrl: '${RVM_NO_URL}' } }));
      await nodeRed.until(() => /RVM_NO_URL is not set/.test(lastStatus()), 'the status');
      const answer = answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE);
      assert.equal(await whileTimeFlies(nodeRed, answer), 'cut');
    });

    function lastStatus(): string {
      return nodeRed.statuses('webhook').at(-1) ?? '';
    }
  });
}

describe('the path of webhook in beside an editor with a root of its own', () => {
  let nodeRed: NodeRed;
  before(async () => {
    nodeRed = await NodeRed.start({ settings: `httpAdminRoot: '/admin',` });
  });
  after(() => nodeRed.stopAndRemove());

  it('may be what would be the editor’s elsewhere, but not the root of the editor or anything below it that it uses', async () => {
    for (const own of ['/admin', '/admin/', '/admin/flows']) {
      await nodeRed.deploy(webhookFlow({ webhook: { path: own } }), 'full', '/admin');
      await nodeRed.until(
        () => nodeRed.statuses('webhook').at(-1) === 'status.pathReserved',
        `the status for ${own}`,
      );
      await nodeRed.deploy(webhookFlow({ webhook: { path: PATH } }), 'full', '/admin');
      await nodeRed.until(
        () => nodeRed.statuses('webhook').at(-1) !== 'status.pathReserved',
        'another status',
      );
    }
    await nodeRed.deploy(webhookFlow({ webhook: { path: '/flows' } }), 'full', '/admin');
    assert.equal((await post(`${nodeRed.url}/flows`, alarmMessage(), PHRASE)).status, 200);
  });

  slowIt(
    'is not held for the next start where the editor has moved there: it must be in reach when flows do not start',
    async () => {
      const { port, userDir } = nodeRed;
      await nodeRed.deploy(webhookFlow({ webhook: { path: '/flows' } }), 'full', '/admin');
      assert.equal((await post(`${nodeRed.url}/flows`, alarmMessage(), PHRASE)).status, 200);
      await nodeRed.stop();
      const missing = { id: 'missing', type: 'type-that-nobody-has', z: 'tab', x: 0, y: 0, wires: [] };
      fs.writeFileSync(
        path.join(userDir, 'flows.json'),
        JSON.stringify([...webhookFlow({ webhook: { path: '/flows' } }), missing]),
      );
      nodeRed = await NodeRed.start({ userDir, port, waitsForTypes: true });
      assert.equal((await fetch(`${nodeRed.url}/flows`)).status, 200);
    },
  );
});
