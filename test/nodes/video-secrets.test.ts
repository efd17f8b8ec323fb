import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { RecordingForwarder } from '../support/network/servers';
import type { FlowNode } from '../support/node-red/node-red';
import { caller, type Message, VideoFlow } from '../support/node-red/station-flow';
import { functionNode } from '../support/node-red/alarms-through';
import { needs, programPath } from '../support/suite/programs';
import { FakeFfmpeg } from '../support/video/fake-ffmpeg';

const KEEPING = "contextStorage: { default: { module: 'localfilesystem', config: { flushInterval: 1 } } },";

describe('the address of a relay, and what is in it', () => {
  const ffmpeg = new FakeFfmpeg();
  let flow: VideoFlow;
  let forwarder: RecordingForwarder;
  let secrets: string[];
  before(async function () {
    needs(this, 'ffmpeg');
    ffmpeg.start();
    const deeds = 'env >> "$folder/environment"; cat /proc/$$/cmdline >> "$folder/arguments"';
    const file = ffmpeg.write(`${deeds}; exec ${programPath('ffmpeg')} "$@"`);
    flow = await VideoFlow.start('5', {}, { settings: `rvmFfmpeg: ${JSON.stringify(file)}, ${KEEPING}` });
    forwarder = await RecordingForwarder.start(flow.station.sandbox.url);
    await useEverything();
    const urls = forwarder.requests.flatMap(({ answer }) => answer.match(/rtsp:\/\/[^"\\]+/g) ?? []);
    const tokens = urls.flatMap((url) => new URL(url).pathname.split('/').filter((part) => part.length > 20));
    secrets = [...urls, ...tokens, new URL(flow.station.sandbox.rtspUrl).host];
    assert.ok(tokens.length >= 5, 'there is something to look for');
  });
  after(async () => {
    await flow?.stop();
    await forwarder?.close();
    ffmpeg.stop();
  });

  const node = (type: string, id: string, properties: Message): FlowNode => ({
    ...caller(type, { mode: 'event', deadline: 5, ...properties }),
    id,
    wires: [['keep'], ['keep']],
  });

  /** Pictures, clips and views that come, and such that fail in each way. */
  async function useEverything(): Promise<void> {
    const keep = "flow.set('last', { ...msg, req: 0, res: 0 });\nreturn msg;";
    const nodes = [
      node('rvm-get-picture', 'picture', { layout: 'list' }),
      node('rvm-get-clip', 'clip', { preRoll: 0, seconds: 1, waitForVideo: 1 }),
      node('rvm-view', 'view', {}),
      functionNode('keep', keep, 'result'),
    ];
    await flow.deploy(nodes, { url: forwarder.url });
    await useOnce();
    const kinds = (['garbage', 'silent', 'oversize-sdp'] as const).map((kind) => ({ kind }));
    const statuses = [403, 404].map((status) => ({ kind: 'status', status }) as const);
    const further = [
      { kind: 'drop-connection', frames: 1 },
      { kind: 'redirect', to: 'loop' },
    ] as const;
    for (const fault of [...kinds, ...statuses, ...further]) {
      flow.fault(fault);
      await useOnce();
      await flow.endFaults();
    }
    await flow.deploy(nodes, { url: forwarder.url, localRelays: false });
    await useOnce();
  }

  async function useOnce(): Promise<void> {
    const mark = await flow.station.send({ event: flow.event() });
    const { nodeRed } = flow.station;
    const outcomes = (): Message[] => nodeRed.at('result').filter((msg) => msg.mark === mark);
    await nodeRed.until(() => outcomes().length === 3, 'picture, clip and view');
    const view = outcomes().find((msg) => msg.view !== undefined);
    for (const part of ['', '/picture'])
      await (await fetch(`${nodeRed.url}${String(view?.payload)}${part}`)).text();
  }

  function assertAbsent(text: string, where: string): void {
    for (const secret of secrets) assert.equal(text.includes(secret), false, `a secret stands in ${where}`);
    assert.doesNotMatch(text, /rtsps?:\/\//);
  }

  it('stand in no line of the log, at its most talkative', () =>
    assertAbsent(flow.station.nodeRed.log, 'the log'));

  it('stand in no message, error or status', () => {
    assert.ok(flow.station.nodeRed.at('status').length > 10);
    const failed = flow.station.nodeRed.at('result').filter(({ error }) => error !== undefined);
    assert.ok(failed.length >= 10, `${failed.length} failures`);
    assertAbsent(JSON.stringify(flow.station.nodeRed.seen), 'a message');
  });

  it('stand in no argument of ffmpeg, and not in its environment', () => {
    for (const name of ['arguments', 'environment']) {
      const text = ffmpeg.left(name) ?? '';
      assert.notEqual(text, '');
      assertAbsent(text, name);
    }
  });

  it('stand in no file that Node-RED keeps, contexts among them', async () => {
    const { nodeRed } = flow.station;
    // What it still has to write is written when it ends.
    await nodeRed.stop();
    const entries = fs.readdirSync(nodeRed.userDir, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'));
    const texts = files.map(({ name, parentPath }) => fs.readFileSync(path.join(parentPath, name), 'latin1'));
    assert.ok(
      texts.some((text) => text.includes('eventStartTime')),
      'a context was written',
    );
    for (const [place, text] of texts.entries()) assertAbsent(text, files[place]?.name ?? '');
  });
});
