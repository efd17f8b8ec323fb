import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { Sandbox } from '../../sandbox';
import { readBar } from '../support/rtsp/fixture';
import { needs } from '../support/suite/programs';
import { advance, closeSandboxes, first, startLoggedIn, type ServiceClient } from './service-client';

/** Width and height in a JPEG's frame header. */
function sizeOf(jpeg: Buffer): [number, number] {
  const marker = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
  return [jpeg.readUInt16BE(marker + 7), jpeg.readUInt16BE(marker + 5)];
}

describe('snapshots of the sandbox', () => {
  let sandbox: Sandbox;
  let client: ServiceClient;
  let link: string;

  before(async () => {
    ({ sandbox, client } = await startLoggedIn());
    link = (await client.dataSources(first(await client.devices()))).at('_links', 'rel/snapshot').text;
  });
  after(closeSandboxes);

  async function take(query = ''): Promise<{ jpeg: Buffer; taken: Date }> {
    const response = await client.raw('GET', link + query);
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'image/jpeg']);
    const timestamp = response.headers.get('x-resource-timestamp') ?? '';
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT.*Z$/);
    return { jpeg: Buffer.from(await response.arrayBuffer()), taken: new Date(timestamp) };
  }

  for (const [query, size] of [
    ['', [320, 180]],
    ['?width=1280', [640, 360]],
    ['?width=640', [640, 360]],
    ['?width=320', [320, 180]],
    ['?width=200', [160, 90]],
    ['?width=16', [160, 90]],
  ] as const)
    it(`are JPEGs of ${size.join(' x ')} where they are asked for with "${query}"`, async () => {
      const { jpeg } = await take(query);
      assert.deepEqual([...jpeg.subarray(0, 2), ...jpeg.subarray(-2)], [0xff, 0xd8, 0xff, 0xd9]);
      assert.deepEqual(sizeOf(jpeg), size);
    });

  for (const width of ['0', 'wide', '1.5', '-320'])
    it(`are refused with the width ${width}`, async () => {
      assert.equal((await client.get(`${link}?width=${width}`)).status, 400);
    });

  it('show the time of the sandbox’s clock', async () => {
    const before = await take();
    await advance(sandbox, 30);
    assert.notDeepEqual((await take()).jpeg, before.jpeg);
  });

  it('show the second of their time stamp', async function () {
    needs(this, 'ffmpeg');
    const { jpeg: input, taken } = await take();
    const decode = '-v error -f mjpeg -i pipe:0 -vf scale=320:180 -f rawvideo -pix_fmt gray pipe:1';
    const { stdout } = spawnSync('ffmpeg', decode.split(' '), { input });
    assert.equal(readBar(stdout), (Math.floor(Number(taken) / 1000) - 1_760_000_000) % 60);
  });

  it('show for each second of a minute another picture', async () => {
    const pictures = new Map<number, string>();
    // The clock of the sandbox goes on meanwhile, so some seconds may be passed over.
    for (let tries = 0; pictures.size < 60 && tries < 600; tries++) {
      const { jpeg, taken } = await take();
      pictures.set(taken.getUTCSeconds(), jpeg.toString('base64'));
      await advance(sandbox, 1);
    }
    assert.deepEqual([pictures.size, new Set(pictures.values()).size], [60, 60]);
  });
});
