import assert from 'node:assert/strict';
import type { FlowNode } from '../support/node-red/node-red';
import { caller, describeWith, type Message, LONG_AGO, VideoFlow } from '../support/node-red/station-flow';
import { eventually } from '../support/time/patience';
import { FakeFfmpeg } from '../support/video/fake-ffmpeg';
import { codeOf } from '../support/node-red/alarms-through';

const getClip = (properties: Message = {}): FlowNode =>
  caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 1, ...properties });

describeWith(VideoFlow, 'video of one cloud with one session at a time', { versions: ['5'] }, (flow) => {
  it('is made one after the other, in the order in which it was asked for', async () => {
    await flow.deploy([getClip()], { videoSessions: 1 });
    const { nodeRed } = flow.station;
    const marks: number[] = [];
    for (const minutes of [3, 1, 2])
      marks.push(await flow.station.send({ event: flow.event(LONG_AGO - minutes * 60_000) }));
    let most = 0;
    const results = (): unknown[] => nodeRed.at('result').map(({ mark }) => mark);
    await eventually(async () => {
      most = Math.max(most, (await flow.relay()).sessions);
      return results().length === marks.length;
    }, 'the clips');
    assert.deepEqual(results(), marks);
    assert.equal(most, 1);
  });

  it('fails with TIMEOUT where its turn does not come within its time limit', async () => {
    const impatient = { ...getClip({ preRoll: 600, deadline: 1 }), id: 'impatient' };
    await flow.deploy([getClip({ seconds: 300 }), impatient], { videoSessions: 1 });
    const first = await flow.station.send({ event: flow.event() });
    const { nodeRed } = flow.station;
    const failed = await nodeRed.message('failed', ({ mark }) => mark === first);
    assert.equal(codeOf(failed), 'TIMEOUT');
  });
});

describe('work on video that is no longer wanted', () => {
  const fake = new FakeFfmpeg();
  let flow: VideoFlow;
  before(() => fake.start());
  beforeEach(async function () {
    // Beyond what it says of itself, it makes no picture and does not end by itself.
    const ffmpeg = fake.write(
      'tr "\\0" " " < /proc/$$/cmdline > "$folder/arguments"; echo $$ > "$folder/pid"; exec sleep 600',
    );
    flow = await VideoFlow.start('5', {}, { settings: `rvmFfmpeg: ${JSON.stringify(ffmpeg)},` });
  });
  afterEach(() => flow.stop());
  after(() => fake.stop());

  const picture = caller('rvm-get-picture', { mode: 'event' });
  const LONG = { seconds: 300 };

  async function startClip(): Promise<void> {
    await flow.deploy([getClip(LONG)]);
    await flow.station.send({ event: flow.event() });
    await flow.station.shows(/300/);
  }

  const ffmpegWorks = () => eventually(() => fake.left('pid')?.endsWith('\n') === true, 'ffmpeg to work');
  const ffmpegEnds = () => eventually(() => hasEnded(Number(fake.left('pid'))), 'the end of ffmpeg');

  const outcomes = () => ['result', 'failed', 'caught'].flatMap((probe) => flow.station.nodeRed.at(probe));

  const hasEnded = (pid: number): boolean => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  };

  it('ends with a deploy of its node, without a trace at the relay, and with CANCELLED', async () => {
    await startClip();
    await flow.station.deployFlows(flow.flows([getClip({ seconds: 2 })]), 'nodes');
    await flow.relayLeft();
    assert.equal(codeOf(await flow.station.nodeRed.message('failed')), 'CANCELLED');
    assert.equal(outcomes().length, 1);
  });

  it('ends with a full deploy, and what is deployed then works at once', async () => {
    await startClip();
    await flow.deploy([getClip()]);
    await flow.station.through({ event: flow.event() });
    await flow.relayLeft();
    assert.equal(outcomes().length, 1);
  });

  it('ends where its node is removed, and ffmpeg with it', async () => {
    await flow.deploy([picture]);
    await flow.station.send({ event: flow.event() });
    await ffmpegWorks();
    await flow.deploy([]);
    await flow.relayLeft();
    await ffmpegEnds();
    assert.deepEqual(outcomes(), []);
  });

  it('does not hold up the end of Node-RED, and leaves no process behind', async () => {
    await startClip();
    const { nodeRed } = flow.station;
    await flow.deploy([getClip(LONG), { ...picture, id: 'picture' }]);
    await flow.station.send({ event: flow.event() });
    await ffmpegWorks();
    await nodeRed.stop();
    await flow.relayLeft();
    await ffmpegEnds();
  });
});

const LOADED = `httpAdminMiddleware: (req, res, next) =>
    req.path === '/loaded' ? res.json(Object.keys(require.cache)) : next(),`;
const HEAVY = [
  /\/mediabunny\/dist\//,
  /\/lib\/video\/rtsp\/open-stream/,
  /\/lib\/video\/view\//,
  /\/lib\/video\/picture\/decoder/,
];

describeWith(VideoFlow, 'the modules of video', { versions: ['5'], settings: LOADED }, (flow) => {
  async function loaded(): Promise<RegExp[]> {
    const response = await fetch(`${flow.station.nodeRed.url}/loaded`);
    const files = (await response.json()) as string[];
    assert.ok(
      files.some((file) => file.endsWith('dist/rvm-get-clip.js')),
      'the package is loaded',
    );
    return HEAVY.filter((heavy) => files.some((file) => heavy.test(file)));
  }

  it('are loaded by nothing but their use: not by the types, nor by nodes that are deployed', async () => {
    assert.deepEqual(await loaded(), []);
    await flow.deploy([getClip()]);
    assert.deepEqual(await loaded(), []);
  });

  it('are loaded by a clip as far as a clip needs them', async () => {
    await flow.deploy([getClip()]);
    await flow.station.through({ event: flow.event() });
    const [mediabunny, rtsp, view] = HEAVY;
    const now = await loaded();
    assert.ok(mediabunny && rtsp && view);
    assert.ok(now.includes(mediabunny) && now.includes(rtsp));
    assert.ok(!now.includes(view));
  });
});
