import assert from 'node:assert/strict';
import { act } from '../support/node-red/inboxes-open';
import { caller, describeWith, StationFlow, type Message } from '../support/node-red/station-flow';
import { ForkedServices } from '../support/service/forked-services';

const WARNING = /has chosen API version (\S+), which is outside of the range/g;

describeWith(
  StationFlow,
  'a service that answers a version outside of the range that was asked for',
  {},
  (flow) => {
    let services: ForkedServices;
    before(async () => (services = await ForkedServices.start()));
    after(() => services.kill());

    /** Deploys a node that calls a service of these versions, one after the other. */
    async function deploy(versions: string, ofCloud: Message = {}): Promise<void> {
      const { url, apiKey, username, password } = await services.service('ofVersions', versions);
      const cloud = { url, credentials: { apiKey }, ...ofCloud };
      const station = { credentials: { username, password } };
      const asker = caller('rvm-request', { start: 'system', rels: '' });
      await flow.deployFlows(flow.flows({ cloud, station }, asker));
    }

    const warned = (since: number): string[] =>
      [...flow.nodeRed.log.slice(since).matchAll(WARNING)].map(([, named = '']) => named);

    it('is used, and the log warns of it once (T-09)', async () => {
      const since = flow.nodeRed.log.length;
      await deploy('12');
      await flow.shows('connected v12');
      for (let turn = 0; turn < 3; turn += 1) await flow.through({});
      assert.deepEqual(warned(since), ['12']);
    });

    it('is warned of once for each of its versions, however often they change (T-09)', async () => {
      const since = flow.nodeRed.log.length;
      // Each sign of life brings the next one.
      await deploy('12 13 12 14 13', { signOfLife: 0.2 });
      const isLast = (shown = flow.statuses()): boolean =>
        shown.includes('connected v14') && shown.at(-1) === 'connected v13';
      await flow.nodeRed.until(() => isLast(), 'the last version');
      assert.deepEqual(warned(since), ['12', '13', '14']);
    });

    it('is told in the station test, which goes on (T-09)', async () => {
      await deploy('12');
      await flow.shows('connected v12');
      const { body } = await act(flow.nodeRed, 'station-test', { station: 'station' });
      const steps = body.steps as { step: string }[];
      const told = steps.filter((step) => step.step === 'version' || 'isUnasked' in step);
      assert.deepEqual(told, [{ step: 'version', outcome: 'ok', detail: '12', isUnasked: true }]);
    });

    it('is no matter for a word where it lies in the range (T-09)', async () => {
      const since = flow.nodeRed.log.length;
      await deploy('9');
      await flow.shows('connected v9');
      const { body } = await act(flow.nodeRed, 'station-test', { station: 'station' });
      assert.ok(!JSON.stringify(body).includes('isUnasked'));
      assert.deepEqual(warned(since), []);
    });
  },
);
