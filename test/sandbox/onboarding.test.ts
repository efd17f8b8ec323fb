import assert from 'node:assert/strict';
import { Refusal, type Sandbox, type SandboxOptions } from '../../sandbox';
import { closeSandboxes, control, first, startLoggedIn, stateOf } from './service-client';
import type { Json, JsonAnswer, ServiceClient } from './service-client';

const byState = (sites: Json, state: string): Json[] =>
  sites.list.filter((site) => site.at('state').text === state);

describe('the onboarding of the sandbox', () => {
  let sandbox: Sandbox;
  let client: ServiceClient;
  afterEach(closeSandboxes);

  async function start(options: SandboxOptions = {}): Promise<void> {
    ({ sandbox, client } = await startLoggedIn(options));
  }
  const post = (path: string, body?: unknown): Promise<JsonAnswer> => control(sandbox, 'POST', path, body);
  const customers = async (): Promise<Json> => (await control(sandbox, 'GET', 'customers')).body;
  const counts = async (): Promise<number[]> => {
    const all = await customers();
    return ['pending', 'accepted'].map((state) => byState(all, state).length);
  };

  it('has as many Pending Requests as asked for', async () => {
    await start({ sites: 5, pending: 2 });
    assert.deepEqual(await counts(), [2, 3]);
    for (const customer of (await customers()).list) assert.match(customer.at('name').text, /^SANDBOX /);
  });

  it('lists no camera of a site that is not accepted, and lets nobody reach one', async () => {
    await start({ sites: 3, pending: 1 });
    const devices = await client.devices();
    assert.equal(devices.length, 16);
    const pending = (await stateOf(sandbox)).at('cameras', 2, 'id').text;
    const [link, id] = [first(devices).at('_links', 'rel/self').text, first(devices).at('id').text];
    assert.equal((await client.get(link.replace(id, pending))).status, 404);
  });

  it('lets a site that is not accepted send nothing, and no site where none is', async () => {
    await start({ sites: 2, pending: 1 });
    const camera = (await stateOf(sandbox)).at('cameras', 1, 'id').text;
    assert.throws(() => sandbox.raiseAlarm({ camera }), Refusal);
    assert.equal((await post('alarms', { camera })).status, 409);
    await start({ sites: 1, pending: 1 });
    for (const alarm of [{}, { eventClass: 'health' }])
      assert.equal((await post('alarms', alarm)).status, 409);
  });

  it('goes from the code over a Pending Request to an accepted site with cameras', async () => {
    await start({ sites: 1, cameras: 2 });
    const state = await stateOf(sandbox);
    const siteId = first(byState(state.at('sites'), 'no request')).at('id').text;
    const applied = await post('packages', { code: state.at('packageCode').text, siteId });
    assert.deepEqual([applied.status, applied.body.at('state').text], [200, 'pending']);
    assert.equal((await client.devices()).length, 2);
    const request = (await customers()).at(1);
    assert.equal(request.at('siteId').text, siteId);
    const accepted = await post(`customers/${request.at('id').text}/accept`);
    assert.equal(accepted.body.at('state').text, 'accepted');
    assert.equal((await client.devices()).length, 4);
  });

  it('has further Pending Requests beside all the cameras asked for', async () => {
    await start({ furtherPending: 2 });
    assert.equal((await client.devices()).length, 24);
    assert.deepEqual(await counts(), [2, 3]);
    const ids = new Set((await stateOf(sandbox)).at('cameras').list.map((camera) => camera.at('id').text));
    assert.equal(ids.size, 24 + 3 * 2);
    const request = first(byState(await customers(), 'pending'));
    sandbox.acceptCustomer(request.at('id').text);
    const names = (await client.devices()).slice(24).map((device) => device.at('siteName').text);
    assert.deepEqual(names, Array(2).fill(request.at('siteName').text));
  });

  it('changes nothing of the cameras of other sites by further Pending Requests', async () => {
    const devicesOf = async (furtherPending: number): Promise<unknown[]> => {
      await start({ furtherPending });
      return (await client.devices()).map((device) => [device.at('id').text, device.at('siteId').text]);
    };
    assert.deepEqual(await devicesOf(1), await devicesOf(0));
  });

  for (const [title, site, changes, status, outcome] of [
    ['a wrong code', 2, { code: 'SANDBOX-0' }, 409, 'WrongCode'],
    ['the code a second time, for it changes nothing', 2, {}, 200, 'pending'],
    ['the code for an accepted site', 0, {}, 409, 'AlreadyAccepted'],
    ['the code for an unknown site', 2, { siteId: 'none' }, 404, 'SiteNotFound'],
  ] as const)
    it(`answers ${status} to ${title}`, async () => {
      await start({ pending: 1 });
      const state = await stateOf(sandbox);
      const request = { code: state.at('packageCode').text, siteId: state.at('sites', site, 'id').text };
      const answer = await post('packages', { ...request, ...changes });
      const told = answer.body.at(status === 200 ? 'state' : 'code').text;
      assert.deepEqual([answer.status, told], [status, outcome]);
    });

  it('answers 404 to the acceptance of a customer without a request', async () => {
    await start();
    const site = first(byState((await stateOf(sandbox)).at('sites'), 'no request'));
    for (const id of [site.at('customerId').text, 'none'])
      assert.equal((await post(`customers/${id}/accept`)).status, 404);
  });
});
