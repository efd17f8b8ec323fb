import assert from 'node:assert/strict';
import { caller, VideoFlow } from '../support/node-red/station-flow';

const LOADED = `httpAdminMiddleware: (req, res, next) =>
    req.path === '/loaded' ? res.json(Object.keys(require.cache)) : next(),`;
const HEAVY = [
  /\/mediabunny\/dist\//,
  /\/lib\/video\/rtsp\/open-stream/,
  /\/lib\/video\/view\//,
  /\/lib\/video\/picture\/decoder/,
];

describe('the modules of video', () => {
  let flow: VideoFlow;
  before(async () => {
    flow = await VideoFlow.start('5', {}, { settings: LOADED });
  });
  after(() => flow?.stop());

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
    await flow.deploy([caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 1 })]);
    assert.deepEqual(await loaded(), []);
  });

  it('are loaded by a clip as far as a clip needs them', async () => {
    await flow.deploy([caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 1 })]);
    await flow.station.through({ event: flow.event() });
    const [mediabunny, rtsp, view] = HEAVY;
    const now = await loaded();
    assert.ok(mediabunny && rtsp && view);
    assert.ok(now.includes(mediabunny) && now.includes(rtsp));
    assert.ok(!now.includes(view));
  });
});
