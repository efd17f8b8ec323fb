import assert from 'node:assert/strict';
import { burntInSecond, ffmpegAvailable } from '../support/burnt-in-second';
import { EXAMPLES, example, installedPackagesFor, missingPackagesFor } from '../support/examples';
import { expectedSecond, fixtureSecond } from '../support/fixture-second';
import { entrance, inject, NodeRed, VERSIONS, type NodeRedVersion } from '../support/node-red';
import { receivePictures } from '../support/rtsp-client';

const BESIDE_01 = { 'rvm-example-01-alarm': 'alarm', 'rvm-example-01-video': 'video' };

for (const version of Object.keys(VERSIONS) as NodeRedVersion[]) {
  describe(`the example flows in Node-RED ${version}`, function () {
    this.timeout(90_000);
    let nodeRed: NodeRed;

    before(async () => {
      nodeRed = await NodeRed.start({
        version,
        palette: [...new Set(EXAMPLES.flatMap(installedPackagesFor))],
      });
    });

    after(() => nodeRed.stopAndRemove());

    for (const name of EXAMPLES) {
      const missing = missingPackagesFor(name);
      if (missing.length > 0) {
        it.skip(`"${name}" imports: it needs ${missing.join(', ')}, which is not in test/palette`);
        continue;
      }

      it(`"${name}" imports with no unknown type, no credentials, and a comment that explains it`, async () => {
        const nodes = example(name);
        await nodeRed.deploy(nodes);
        assert.doesNotMatch(nodeRed.log, /Waiting for missing types/);
        assert.equal(
          nodes.some((node) => 'credentials' in node),
          false,
        );
        const comment = nodes.find((node) => node.type === 'comment');
        assert.ok(String(comment?.info).length > 40);
      });
    }

    it('01: an alarm of the sandbox arrives proven, and its URL plays the second at which the event began', async () => {
      await nodeRed.deploy(example('01', BESIDE_01));
      const alarm = await nodeRed.message('alarm', () => true, 30);
      const webhook = alarm.webhook as Record<string, unknown>;
      assert.equal(webhook.sandbox, true);
      assert.equal(webhook.proof, 'hmac');
      assert.match(String(webhook.text), /^SANDBOX/);

      const video = await nodeRed.message('video', () => true, 30);
      const { pictures } = await receivePictures(String(video.payload), { pictures: 1 });
      assert.equal(fixtureSecond(pictures[0]?.nals ?? []), eventSecond(video));
    });

    it('01: ffmpeg plays the URL and shows the second of the event in its first picture', async function () {
      if (!ffmpegAvailable()) this.skip();
      await nodeRed.deploy(example('01', BESIDE_01));
      const known = nodeRed.at('video').length;
      await nodeRed.until(() => nodeRed.at('video').length > known, 'another URL', 30);
      const video = nodeRed.at('video').at(-1) ?? {};
      assert.equal(await burntInSecond(String(video.payload)), eventSecond(video));
    });

    it('02: the cameras of the sandbox are listed, one line each', async () => {
      await nodeRed.deploy([
        ...example('02', { 'rvm-example-02-debug': 'cameras' }),
        ...entrance('go', 'rvm-example-02-list').map((node) => ({ ...node, z: 'rvm-example-02-tab' })),
      ]);
      await inject(nodeRed, 'go', {});
      const { payload } = await nodeRed.message('cameras');
      assert.ok((payload as string[]).length > 10);
      assert.match(String((payload as string[])[0]), /SANDBOX/);
    });
  });
}

/** The second of the recording at which the event began; its time has no zone and is UTC. */
function eventSecond(msg: Record<string, unknown>): number {
  const { eventStartTime } = msg.event as { eventStartTime: string };
  return expectedSecond(Date.parse(`${eventStartTime.slice(0, 19)}Z`));
}
