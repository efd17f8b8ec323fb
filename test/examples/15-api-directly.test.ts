import assert from 'node:assert/strict';
import { ExampleRun, partOf } from '../support/examples/example-run';

describe('example 15, ask the API directly', () => {
  const run = ExampleRun.ofGroup('15', {
    beside: {
      details: 'details',
      links: 'links',
      type: 'picture',
      offers: 'offers',
      'failed-picture': 'failed',
    },
  });

  it('shows details, links and a picture of a camera that is online', async () => {
    await run.press('camera');
    const details = await run.nodeRed.message('details');
    const { id, online } = partOf(details, 'payload');
    assert.deepEqual([id, online], [details.camera, true]);

    const links = await run.nodeRed.message('links');
    assert.equal(partOf(links, 'payload').deviceId, id);
    assert.ok('rel/rtsp' in partOf(links, 'links'));

    const picture = await run.nodeRed.message('picture');
    assert.equal(picture.url, partOf(links, 'links')['rel/snapshot']);
    assert.equal(partOf(picture, 'headers')['content-type'], 'image/jpeg');
    assert.equal(partOf(picture, 'payload').type, 'Buffer');
  });

  it('shows what the service offers', async () => {
    await run.press('service');
    const { links } = await run.nodeRed.message('offers');
    assert.ok('rel/devices' in (links as object));
  });

  it('a link that the service does not give is a failure of its own', async () => {
    const flow = run.flow.map((node) =>
      node.id === 'rvm-example-15-link'
        ? { ...node, func: String(node.func).replace('rel/snapshot', 'rel/moon') }
        : node,
    );
    await run.nodeRed.deploy(flow);
    await run.press('camera');
    const { error } = await run.nodeRed.message('failed');
    assert.equal((error as Record<string, unknown>).code, 'BAD_INPUT');
  });
});
