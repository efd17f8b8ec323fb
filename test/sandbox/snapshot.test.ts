import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { Sandbox } from '../../sandbox';
import { readBar } from '../support/rtsp/fixture';
import { needs } from '../support/suite/programs';
import { closeSandboxes, control, startLoggedIn, type ServiceClient } from './service-client';

/** Width and height in a JPEG's frame header. */
function sizeOf(jpeg: Buffer): [number, number] {
  const marker = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
  return [jpeg.readUInt16BE(marker + 7), jpeg.readUInt16BE(marker + 5)];
}

describe('snapshots of the sandbox', () => {
  let sandbox: Sandbox;
  let client: ServiceClient;
  let link: string;

  beforeEach(async () => {
    ({ sandbox, client } = await startLoggedIn());
    const [device] = await client.devices();
    assert.ok(device !== undefined);
    link = (await client.dataSources(device)).at('_links', 'rel/snapshot').text;
  });
  afterEach(closeSandboxes);

  const takeTimed = async (query = ''): Promise<{ jpeg: Buffer; taken: Date }> => {
    const response = await client.raw('GET', link + query);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'image/jpeg');
    const timestamp = response.headers.get('x-resource-timestamp') ?? '';
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT.*Z$/);
    return { jpeg: Buffer.from(await response.arrayBuffer()), taken: new Date(timestamp) };
  };
  const take = async (query = ''): Promise<Buffer> => (await takeTimed(query)).jpeg;

  it('are JPEGs', async () => {
    const jpeg = await take();
    assert.deepEqual([...jpeg.subarray(0, 2)], [0xff, 0xd8]);
    assert.deepEqual([...jpeg.subarray(-2)], [0xff, 0xd9]);
    assert.deepEqual(sizeOf(jpeg), [320, 180]);
  });

  for (const [width, size] of [
    [1280, [640, 360]],
    [640, [640, 360]],
    [320, [320, 180]],
    [200, [160, 90]],
    [16, [160, 90]],
  ] as const) {
    it(`are ${size[0]} wide where ${width} is asked for`, async () => {
      assert.deepEqual(sizeOf(await take(`?width=${width}`)), size);
    });
  }

  for (const width of ['0', 'wide', '1.5', '-320']) {
    it(`are refused with the width ${width}`, async () => {
      assert.equal((await client.get(`${link}?width=${width}`)).status, 400);
    });
  }

  it('show the time of the sandbox’s clock', async () => {
    const before = await take();
    await control(sandbox, 'POST', 'clock', { advance: 30 });
    assert.notDeepEqual(await take(), before);
  });

  it('show the second of their time stamp', async function () {
    needs(this, 'ffmpeg');
    const response = await client.raw('GET', link);
    const input = Buffer.from(await response.arrayBuffer());
    const decode = '-v error -f mjpeg -i pipe:0 -vf scale=320:180 -f rawvideo -pix_fmt gray pipe:1'.split(
      ' ',
    );
    const { stdout } = spawnSync('ffmpeg', decode, { input });
    const time = Date.parse(response.headers.get('x-resource-timestamp') ?? '');
    assert.equal(readBar(stdout), (Math.floor(time / 1000) - 1_760_000_000) % 60);
  });

  it('show for each second of a minute another picture', async () => {
    const pictures = new Map<number, string>();
    // The clock of the sandbox goes on meanwhile, so some seconds may be passed over.
    for (let tries = 0; pictures.size < 60 && tries < 600; tries++) {
      const { jpeg, taken } = await takeTimed();
      pictures.set(taken.getUTCSeconds(), jpeg.toString('base64'));
      await control(sandbox, 'POST', 'clock', { advance: 1 });
    }
    assert.deepEqual([pictures.size, new Set(pictures.values()).size], [60, 60]);
  });
});
