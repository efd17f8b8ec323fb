import assert from 'node:assert/strict';
import { alarmMessage, answerTo, post } from '../support/webhook/alarm-message';
import { listenerNode, PATH, PHRASE, webhookFlow, webhookIn } from '../support/node-red/flows';
import { NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';
import { NodeRed, freePort, type FlowNode } from '../support/node-red/node-red';
import { whileTimeFlies } from '../support/node-red/node-red-time';
import { answered, node, shows, overviewOf } from '../support/node-red/alarms-through';

for (const version of NODE_RED_VERSIONS)
  describe(`the path of webhook in on Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    before(async () => (nodeRed = await NodeRed.start({ version })));
    after(() => nodeRed.stopAndRemove());

    const deployAt = (path: string): Promise<void> => nodeRed.deploy(webhookFlow({ webhook: { path } }));

    for (const [why, status, said, paths] of [
      [
        'which belongs to the editor',
        'status.pathReserved',
        /would lock you out/,
        ['/flows', '/flow/abc', 'settings', '/comms', '/auth/token', '/nodes/', '/red/x'],
      ],
      [
        'by which no request can come',
        'status.pathImpossible',
        /./,
        ['/with space', '/ä', '/a?b=c', '/a#b', '/a/../b', '/.', '/a%20b', '/{b}'],
      ],
      [
        'where other pages of the package are',
        'status.pathKept',
        /are no webhook paths/,
        [
          '/remote-monitoring/view',
          'remote-monitoring//view/a',
          '/remote-monitoring/live/',
          '/remote-monitoring/ready',
        ],
      ],
    ] as const)
      for (const path of paths)
        it(`is not ${path}, ${why}, and says so`, async () => {
          const { length } = nodeRed.log;
          await deployAt(path);
          await shows(nodeRed, status);
          await nodeRed.logged(said, length);
          assert.equal((await fetch(`${nodeRed.url}/flows`)).status, 200);
        });

    const GOOD = '/alarms no-slash/in-front /flows-of-alarms /a/flows /a.b/..c/~d /remote-monitoring/viewer';
    for (const path of [...GOOD.split(' '), '/other/remote-monitoring/view'])
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

describe('the path of webhook in beside an editor with a root of its own', () => {
  let nodeRed: NodeRed;
  before(async () => (nodeRed = await NodeRed.start({ settings: `httpAdminRoot: '/admin',` })));
  after(() => nodeRed.stopAndRemove());

  const deployAt = (path: string) => nodeRed.deploy(webhookFlow({ webhook: { path } }), 'full', '/admin');

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
      nodeRed = await NodeRed.start({ userDir, port, flows, flowsWait: true });
      assert.equal((await fetch(`${nodeRed.url}/flows`)).status, 200);
    },
  );
});

describe('a post to a path that no webhook in has', () => {
  let nodeRed: NodeRed;
  let listenerPort: number;
  let flow: FlowNode[];
  before(async () => {
    nodeRed = await NodeRed.start({ settings: `httpNodeRoot: '/api',` });
    listenerPort = await freePort();
    flow = webhookFlow(
      {},
      listenerNode({ port: listenerPort }),
      webhookIn({ id: 'behind', listener: 'listener', path: '/remote-monitoring/behind' }),
      node('http in', { url: '/remote-monitoring/own', method: 'post', wires: [['answer']] }),
      node('http response', { id: 'answer', statusCode: '204' }),
    );
    await nodeRed.deploy(flow);
    await nodeRed.logged(/Listening|listening/);
  });
  after(() => nodeRed.stopAndRemove());

  const unknown = async () => (await overviewOf(nodeRed)).unknownPaths;
  const lines = (path: string): number => nodeRed.log.split(`posts to ${path} on port`).length - 1;

  for (const [server, urlOf, path] of [
    ["Node-RED's server", () => nodeRed.url, '/api/remote-monitoring/typo'],
    ['a listener', () => `http://127.0.0.1:${listenerPort}`, '/remote-monitoring/typo'],
  ] as const)
    it(`of ${server} is answered 404, told once in the log, and listed with count, port and sender`, async () => {
      for (let i = 0; i < 3; i += 1)
        assert.equal((await post(`${urlOf()}${path}?query=1`, alarmMessage(), PHRASE)).status, 404);
      const [found] = (await unknown()).filter((entry) => entry.path === path);
      const { lastTime, ...rest } = found ?? assert.fail();
      assert.ok(Date.parse(lastTime) > 0);
      const port = Number(new URL(urlOf()).port);
      assert.deepEqual(rest, { path, port, count: 3, lastAddress: '127.0.0.1' });
      await nodeRed.logged(new RegExp(`posts to ${path} on port ${port}`));
      assert.equal(lines(path), 1);
    });

  it('is none where another node has the path, nor elsewhere', async () => {
    const before = await unknown();
    assert.equal((await post(`${nodeRed.url}/api/remote-monitoring/own`, alarmMessage())).status, 204);
    assert.equal((await post(`${nodeRed.url}/api/elsewhere`, alarmMessage())).status, 404);
    assert.equal((await post(`${nodeRed.url}/api${PATH}`, alarmMessage(), PHRASE)).status, 200);
    assert.deepEqual(await unknown(), before);
  });

  it('is no longer listed once a webhook in has the path', async () => {
    const typo = webhookIn({ id: 'typo', path: '/remote-monitoring/typo' });
    await nodeRed.deploy([...flow, typo]);
    assert.deepEqual(
      (await unknown()).map(({ path }) => path),
      ['/remote-monitoring/typo'],
    );
  });
});
