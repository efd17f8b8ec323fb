import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { promisify } from 'node:util';
import { makeRecording, RATE, removeRecording } from '../../bench/video/recording';
import { RecordingRelay } from '../../bench/video/recording-relay';
import { needs } from '../support/suite/programs';
import { Streams, takePictures } from '../video/rtsp/streams';

const run = promisify(execFile);
const SECONDS = 3;

describe('the relay of the benchmark', function () {
  const streams = new Streams();
  let file: string;
  let relay: RecordingRelay;

  before(async function () {
    needs(this, 'ffmpeg', 'ffprobe');
    file = makeRecording({ seconds: SECONDS, bitsPerSecond: 1_000_000 });
    relay = await RecordingRelay.start(file, 20);
  });

  afterEach(() => streams.close());

  after(async () => {
    await relay?.stop();
    if (file !== undefined) removeRecording(file);
  });

  it('sends each picture of its recording at its time', async () => {
    const pictures = await takePictures(await streams.open(`${relay.url}/camera`), SECONDS * RATE);
    const times = pictures.map(({ time }) => Math.round(time * RATE));
    assert.deepEqual(
      times,
      Array.from({ length: SECONDS * RATE }, (_, place) => place),
    );
    assert.deepEqual(
      pictures.flatMap(({ key }, place) => (key ? [place] : [])),
      [0, RATE, 2 * RATE],
    );
    const recording = fs.readFileSync(file);
    for (const { nals } of pictures) for (const nal of nals) assert.ok(recording.includes(nal));
  });

  it('sends the recording from its beginning to each who asks', async () => {
    const urls = ['one', 'two', 'three'].map((camera) => `${relay.url}/${camera}`);
    const firsts = await Promise.all(urls.map(async (url) => takePictures(await streams.open(url), 1)));
    for (const [first] of firsts) assert.equal(first?.time, 0);
  });

  it('is understood by ffmpeg', async () => {
    const told = ['-v', 'warning', '-select_streams', 'v', '-show_entries', 'stream=codec_name,width,height'];
    const args = [...told, '-of', 'csv=p=0', '-rtsp_transport', 'tcp', `${relay.url}/camera`];
    const { stdout, stderr } = await run('ffprobe', args);
    assert.equal(stdout.trim(), 'h264,1280,720');
    assert.equal(stderr, '');
  });
});
