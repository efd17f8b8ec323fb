import assert from 'node:assert/strict';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';
import { NodeRed } from '../support/node-red/node-red';
import { whileTimeFlies } from '../support/node-red/node-red-time';
import { answered, node, shows } from '../support/node-red/alarms-through';

for (const version of NODE_RED_VERSIONS) {
  describe(`the path of webhook in on Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    before(async () => {
      nodeRed = await NodeRed.start({ version });
    });
    after(() => nodeRed.stopAndRemove());

    const deployAt = (path: string): Promise<void> => nodeRed.deploy(webhookFlow({ webhook: { path } }));

    for (const [why, status, said, ...paths] of [
      [
        'which belongs to the editor',
        'status.pathReserved',
        /would lock you out/,
        ...['/flows', '/flow/abc', 'settings', '/comms', '/auth/token', '/nodes/', '/red/x'],
      ],
      [
        'by which no request can come',
        'status.pathImpossible',
        /./,
        ...['/with space', '/ä', '/a?b=c', '/a#b', '/a/../b', '/.', '/a%20b', '/{b}'],
      ],
      [
        'where other pages of the package are',
        'status.pathKept',
        /are no webhook paths/,
        ...['view', '/view/a', 'live/', 'ready'].map((name) => `remote-monitoring/${name}`),
      ],
    ] as [why: string, status: string, said: RegExp, ...paths: string[]][])
      for (const path of paths)
        it(`is not ${path}, ${why}, and says so`, async () => {
          const { length } = nodeRed.log;
          await deployAt(path);
          await shows(nodeRed, status);
          await nodeRed.logged(said, length);
          assert.equal((await fetch(`${nodeRed.url}/flows`)).status, 200);
        });

    for (const path of [
      ...['/alarms', 'no-slash/in-front', '/flows-of-alarms', '/a/flows', '/a.b/..c/~d'],
      ...['/remote-monitoring/viewer', '/other/remote-monitoring/view'],
    ])
      it(`may be ${path}`, async () => {
        await deployAt(path);
        const place = path.replace(/^\/?/, '/');
        assert.equal(await answered(nodeRed, alarmMessage(), PHRASE, place), 200);
      });

    it('is not taken by its text while it names a variable that is not set', async () => {
      for (const path of ['/${RVM_NO_PATH}', '${RVM_NO_PATH}']) await deployAt(path);
      await shows(nodeRed, /RVM_NO_PATH is not set/);
    });

    it('stays, and what comes is cut and not refused, while a variable of another property is not set', async () => {
      await nodeRed.deploy(webhookFlow({ webhook: { publicUrl: '${RVM_NO_URL}' } }));
      await shows(nodeRed, /RVM_NO_URL is not set/);
      const answer = answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE);
      assert.equal(await whileTimeFlies(nodeRed, answer), 'cut');
    });
  });
}

describe('the path of webhook in beside an editor with a root of its own', () => {
  let nodeRed: NodeRed;
  before(async () => {
    nodeRed = await NodeRed.start({ settings: `httpAdminRoot: '/admin',` });
  });
  after(() => nodeRed.stopAndRemove());

  const deployAt = (path: string): Promise<void> =>
    nodeRed.deploy(webhookFlow({ webhook: { path } }), 'full', '/admin');

  it('may be what would be the editor’s elsewhere, but not the root of the editor or anything below it that it uses', async () => {
    for (const path of ['/admin', '/admin/', '/admin/flows']) {
      const from = nodeRed.seen.length;
      await deployAt(path);
      await shows(nodeRed, 'status.pathReserved', 'webhook', from);
    }
    await deployAt('/flows');
    assert.equal(await answered(nodeRed, alarmMessage(), PHRASE, '/flows'), 200);
  });

  slowIt(
    'is not held for the next start where the editor has moved there: it must be in reach when flows do not start',
    async () => {
      const { port, userDir } = nodeRed;
      await deployAt('/flows');
      assert.equal(await answered(nodeRed, alarmMessage(), PHRASE, '/flows'), 200);
      await nodeRed.stop();
      const flows = webhookFlow({ webhook: { path: '/flows' } }, node('type-that-nobody-has'));
      nodeRed = await NodeRed.start({ userDir, port, flows, waitsForTypes: true });
      assert.equal((await fetch(`${nodeRed.url}/flows`)).status, 200);
    },
  );
});
