import assert from 'node:assert/strict';
import { EXAMPLES, example, packagesFor } from '../support/examples/examples';
import { burntInSecond } from '../support/rtsp/fixture';
import { bytesOf } from '../support/node-red/flows';
import { NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';
import { entrance, inject, NodeRed, typesOfPackage, type FlowNode } from '../support/node-red/node-red';
import { needs } from '../support/suite/programs';
import { barAt } from '../support/node-red/station-flow';
import { numberIn } from '../support/video/encoded-video';

const NEEDING = EXAMPLES.filter((name) => packagesFor(name).length > 0);
const IMPORTS = 'imports with no unknown type, no credentials, and a comment that explains it';
const BESIDE_01 = {
  'rvm-example-01-alarm': 'alarm',
  'rvm-example-01-picture-made': 'picture',
  'rvm-example-01-video': 'page',
};

for (const version of NODE_RED_VERSIONS) {
  describe(`the example flows in Node-RED ${version}`, () => {
    const nodeRed = NodeRed.ofGroup({ version });

    for (const name of EXAMPLES.filter((each) => !NEEDING.includes(each)))
      it(`"${name}" ${IMPORTS}`, () => importExample(nodeRed, name));

    it('01: an alarm of the sandbox arrives proven, and its address opens a page for it', async () => {
      await nodeRed.deploy(example('01', BESIDE_01));
      const alarm = await nodeRed.message('alarm');
      assert.partialDeepStrictEqual(alarm.webhook, { sandbox: true, proof: 'hmac' });
      assert.match(String((alarm.webhook as Record<string, unknown>).text), /^SANDBOX/);
      const { payload } = await nodeRed.message('page');
      assert.match(String(payload), /^http:\/\/127\.0\.0\.1:1880\/remote-monitoring\/view\//);
      const page = await fetch(nodeRed.url + new URL(String(payload)).pathname);
      assert.equal(page.status, 200);
      assert.match(await page.text(), /SANDBOX/);
    });

    it('01: the picture is of the second at which the event began', async function () {
      needs(this, 'ffmpeg');
      await nodeRed.deploy(example('01', BESIDE_01));
      const msg = await nodeRed.next('picture');
      assert.equal(await numberIn(bytesOf(msg.payload)), eventSecond(msg));
    });

    it('13: the URL beside an alarm plays, and shows the second of the event in its first picture', async function () {
      needs(this, 'ffmpeg');
      await nodeRed.deploy(example('13', { 'rvm-example-13-video': 'video' }));
      const video = await nodeRed.message('video');
      assert.equal(await burntInSecond(String(video.payload)), eventSecond(video));
    });

    it('02: the cameras of the sandbox are listed, one line each', async () => {
      await nodeRed.deploy([
        ...example('02', { 'rvm-example-02-debug': 'cameras' }),
        ...entrance('go', 'rvm-example-02-list').map((node) => ({ ...node, z: 'rvm-example-02-tab' })),
      ]);
      await inject(nodeRed, 'go', {});
      const cameras = (await nodeRed.message('cameras')).payload as string[];
      assert.ok(cameras.length > 10);
      assert.match(cameras[0] ?? '', /SANDBOX/);
    });
  });

  describe(`the example flows that need other packages, in Node-RED ${version} with those`, () => {
    // The nodes of S7 take 15 seconds to close where no PLC answers.
    after(() => nodeRed.stop('SIGKILL'));
    const nodeRed = NodeRed.ofGroup({ version, palette: [...new Set(NEEDING.flatMap(packagesFor))] });

    for (const name of NEEDING.toReversed())
      slowIt(`"${name}" ${IMPORTS}`, () => importExample(nodeRed, name));
  });
}

it('N02 every node of the palette is in an example; of the config nodes those that a first flow needs', () => {
  const used = new Set(EXAMPLES.flatMap((name) => example(name).map(({ type }) => type)));
  const others = typesOfPackage().filter((type) => !used.has(type));
  assert.deepEqual(others, ['rvm-inbox', 'rvm-listener']);
});

const FAILING = typesOfPackage().filter(
  (type) => !['rvm-webhook-in', 'rvm-verify', 'rvm-alarm-state', 'rvm-watch'].includes(type),
);

for (const name of EXAMPLES)
  it(`"${name}" shows each failure of its nodes in a debug node`, () => {
    const nodes = example(name);
    const debugs = nodes.filter(({ type, complete }) => type === 'debug' && complete === 'error');
    const isShown = (target: string): boolean =>
      [target, ...beyondLink(nodes, target)].some((id) => debugs.some((debug) => debug.id === id));
    const silent = nodes.filter(({ type, wires }) => {
      const [, failed] = (wires ?? []) as string[][];
      return FAILING.includes(type) && failed !== undefined && !failed.some(isShown);
    });
    assert.deepEqual(silent, []);
  });

/** Where the links lead to of a node that may be a link out. */
function beyondLink(nodes: readonly FlowNode[], id: string): string[] {
  const links = nodes.find((node) => node.id === id && node.type === 'link out')?.links;
  const entrances = nodes.filter(({ id: of }) => Array.isArray(links) && links.includes(of));
  return entrances.flatMap(({ wires }) => (wires as string[][]).flat());
}

async function importExample(nodeRed: NodeRed, name: string): Promise<void> {
  const nodes = example(name);
  await nodeRed.deploy(nodes);
  assert.doesNotMatch(nodeRed.log, /Waiting for missing types/);
  assert.ok(nodes.every((node) => !('credentials' in node)));
  const comment = nodes.find((node) => node.type === 'comment');
  assert.ok(String(comment?.info).length > 40);
}

/** The second of the recording at which the event began; its time has no zone and is UTC. */
function eventSecond(msg: Record<string, unknown>): number {
  const { eventStartTime } = msg.event as { eventStartTime: string };
  return barAt(Date.parse(`${eventStartTime.slice(0, 19)}Z`));
}
