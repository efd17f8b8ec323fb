import assert from 'node:assert/strict';
import { node, overviewOf } from '../support/node-red/alarms-through';
import { act, look } from '../support/node-red/inboxes-open';
import { cloud, station, webhookFlow } from '../support/node-red/flows';
import { entrance, inject, NodeRed, probe, watched } from '../support/node-red/node-red';

describe('the onboarding that a sandbox in Node-RED shows', () => {
  let nodeRed: NodeRed;
  before(async () => {
    nodeRed = await NodeRed.start();
  });
  after(() => nodeRed.stopAndRemove());

  async function deploy(): Promise<void> {
    await nodeRed.deploy(
      watched(
        cloud({ url: 'sandbox', sandboxEvents: 0, deviceRefresh: 0, credentials: {} }),
        station({ credentials: {} }),
        station({ id: 'other', name: 'South', key: 'south', credentials: {} }),
        node('rvm-list-devices', { id: 'list', station: 'station', wires: [['listed'], []] }),
        probe('listed'),
        ...entrance('in', 'list'),
      ),
    );
  }

  async function listed(): Promise<string[]> {
    const before = nodeRed.at('listed').length;
    await inject(nodeRed, 'in', {});
    await nodeRed.until(() => nodeRed.at('listed').length > before, 'a list');
    const devices = nodeRed.at('listed').at(-1)?.payload as { site: string }[];
    return devices.map(({ site }) => site);
  }

  /** How many cameras a station has, as the pickers of the dialogs ask for them. */
  async function pickedOf(id: string): Promise<number> {
    const { body } = await look(nodeRed, `devices?station=${id}`);
    return (body.devices as unknown[]).length;
  }

  const pending = async () => (await overviewOf(nodeRed)).pending;

  /** Deploys, and gives the only site that waits, with the sites of the cameras that are listed. */
  async function begin() {
    await deploy();
    const sites = await listed();
    const [request, ...others] = await pending();
    assert.deepEqual(others, []);
    return { request: request ?? assert.fail('there is none'), sites };
  }

  it('begins with one site that is pending, of which no camera is listed', async () => {
    const { request, sites } = await begin();
    assert.match(request.site, /^SANDBOX /);
    assert.equal(sites.length, 24);
    assert.ok(!sites.includes(request.site), request.site);
  });

  it('lists the cameras at once when the site is accepted, for every station of the cloud', async () => {
    const { cloud: id, customer, site } = (await begin()).request;
    const before = await pickedOf('other');
    assert.equal((await act(nodeRed, 'sandbox-sites', { cloud: id, customer })).status, 200);
    const sites = await listed();
    assert.equal(sites.filter((name) => name === site).length, 2);
    assert.equal(await pickedOf('other'), before + 2);
    assert.deepEqual(await pending(), []);
  });

  it('accepts nothing twice, and nothing that there is not', async () => {
    const { cloud: id, customer } = (await begin()).request;
    await act(nodeRed, 'sandbox-sites', { cloud: id, customer });
    for (const asked of [
      { cloud: id, customer },
      { cloud: id, customer: 'nobody' },
      { cloud: 'station', customer },
    ]) {
      const { status, body } = await act(nodeRed, 'sandbox-sites', asked);
      assert.equal(status, 422);
      assert.match(String(body.message), /not pending any more/);
    }
  });

  it('is no matter of a real service', async () => {
    await nodeRed.deploy(webhookFlow());
    assert.deepEqual(await pending(), []);
  });
});
