import assert from 'node:assert/strict';
import { Refusal } from '../../sandbox';
import { closeSandboxes, control, startLoggedIn, stateOf, type Json } from './service-client';

const byState = (sites: Json, state: string): Json[] =>
  sites.list.filter((site) => site.at('state').text === state);

describe('the onboarding of the sandbox', () => {
  afterEach(closeSandboxes);

  it('has as many Pending Requests as asked for', async () => {
    const { sandbox } = await startLoggedIn({ sites: 5, pending: 2 });
    const customers = (await control(sandbox, 'GET', 'customers')).body;
    assert.equal(byState(customers, 'pending').length, 2);
    assert.equal(byState(customers, 'accepted').length, 3);
    for (const customer of customers.list) assert.match(customer.at('name').text, /^SANDBOX /);
  });

  it('lists no camera of a site that is not accepted', async () => {
    const { client } = await startLoggedIn({ sites: 3, pending: 1 });
    assert.equal((await client.devices()).length, 16);
  });

  it('lets nobody reach a camera of a site that is not accepted', async () => {
    const { sandbox, client } = await startLoggedIn({ sites: 3, pending: 1 });
    const [device] = await client.devices();
    const pending = (await stateOf(sandbox)).at('cameras', 2, 'id').text;
    const link = device?.at('_links', 'rel/self').text.replace(device.at('id').text, pending) ?? '';
    assert.equal((await client.get(link)).status, 404);
  });

  it('lets a site that is not accepted send nothing', async () => {
    const { sandbox } = await startLoggedIn({ sites: 2, pending: 1 });
    const camera = (await stateOf(sandbox)).at('cameras', 1, 'id').text;
    assert.throws(() => sandbox.raiseAlarm({ camera }), Refusal);
    assert.equal((await control(sandbox, 'POST', 'alarms', { camera })).status, 409);
  });

  it('lets nothing be sent where no site is accepted', async () => {
    const { sandbox } = await startLoggedIn({ sites: 1, pending: 1 });
    assert.equal((await control(sandbox, 'POST', 'alarms', {})).status, 409);
    assert.equal((await control(sandbox, 'POST', 'alarms', { eventClass: 'health' })).status, 409);
  });

  it('goes from the code over a Pending Request to an accepted site with cameras', async () => {
    const { sandbox, client } = await startLoggedIn({ sites: 1, cameras: 2 });
    const state = await stateOf(sandbox);
    const [site] = byState(state.at('sites'), 'no request');
    assert.ok(site !== undefined);
    const applied = await control(sandbox, 'POST', 'packages', {
      code: state.at('packageCode').text,
      siteId: site.at('id').text,
    });
    assert.equal(applied.status, 200);
    assert.equal(applied.body.at('state').text, 'pending');
    assert.equal((await client.devices()).length, 2);
    const [, request] = (await control(sandbox, 'GET', 'customers')).body.list;
    assert.equal(request?.at('siteId').text, site.at('id').text);
    const accepted = await control(sandbox, 'POST', `customers/${request?.at('id').text}/accept`);
    assert.equal(accepted.body.at('state').text, 'accepted');
    assert.equal((await client.devices()).length, 4);
  });

  it('has further Pending Requests beside all the cameras asked for', async () => {
    const { sandbox, client } = await startLoggedIn({ furtherPending: 2 });
    assert.equal((await client.devices()).length, 24);
    const customers = (await control(sandbox, 'GET', 'customers')).body;
    assert.equal(byState(customers, 'accepted').length, 3);
    assert.equal(byState(customers, 'pending').length, 2);
    const ids = new Set((await stateOf(sandbox)).at('cameras').list.map((camera) => camera.at('id').text));
    assert.equal(ids.size, 24 + 3 * 2);
    const [request] = byState(customers, 'pending');
    sandbox.acceptCustomer(request?.at('id').text ?? '');
    const devices = await client.devices();
    assert.deepEqual(
      devices.slice(24).map((device) => device.at('siteName').text),
      Array(2).fill(request?.at('siteName').text),
    );
  });

  it('changes nothing of the cameras of other sites by further Pending Requests', async () => {
    const devicesOf = async (furtherPending: number): Promise<unknown[]> => {
      const { client } = await startLoggedIn({ furtherPending });
      return (await client.devices()).map((device) => [device.at('id').text, device.at('siteId').text]);
    };
    assert.deepEqual(await devicesOf(1), await devicesOf(0));
  });

  it('answers 409 to a wrong code', async () => {
    const { sandbox } = await startLoggedIn({ pending: 1 });
    const siteId = (await stateOf(sandbox)).at('sites', 2, 'id').text;
    const answer = await control(sandbox, 'POST', 'packages', { code: 'SANDBOX-0', siteId });
    assert.equal(answer.status, 409);
    assert.equal(answer.body.at('code').text, 'WrongCode');
  });

  it('changes nothing when the code is applied twice', async () => {
    const { sandbox } = await startLoggedIn({ pending: 1 });
    const state = await stateOf(sandbox);
    const request = { code: state.at('packageCode').text, siteId: state.at('sites', 2, 'id').text };
    assert.equal((await control(sandbox, 'POST', 'packages', request)).body.at('state').text, 'pending');
  });

  it('answers 409 to the code for an accepted site, 404 for an unknown one', async () => {
    const { sandbox } = await startLoggedIn();
    const state = await stateOf(sandbox);
    const code = state.at('packageCode').text;
    const siteId = state.at('sites', 0, 'id').text;
    assert.equal((await control(sandbox, 'POST', 'packages', { code, siteId })).status, 409);
    assert.equal((await control(sandbox, 'POST', 'packages', { code, siteId: 'none' })).status, 404);
  });

  it('answers 404 to the acceptance of a customer without a request', async () => {
    const { sandbox } = await startLoggedIn();
    const [site] = byState((await stateOf(sandbox)).at('sites'), 'no request');
    const id = site?.at('customerId').text ?? '';
    assert.equal((await control(sandbox, 'POST', `customers/${id}/accept`)).status, 404);
    assert.equal((await control(sandbox, 'POST', 'customers/none/accept')).status, 404);
  });
});
