import assert from 'node:assert/strict';
import { overviewOf, shows as showsOf } from '../support/node-red/alarms-through';
import { PHRASE, station, webhookFlow } from '../support/node-red/flows';
import { NodeRed, type FlowNode } from '../support/node-red/node-red';
import { caller } from '../support/node-red/station-flow';
import { ForkedServices, type Access } from '../support/service/forked-services';
import { SLOW_VERSIONS } from '../support/suite/lanes';
import { eventually } from '../support/time/patience';

for (const version of SLOW_VERSIONS)
  describe(`a service that nobody asks, in Node-RED ${version}`, () => {
    const nodeRed = NodeRed.ofGroup({ version });
    let services: ForkedServices;
    let access: Access;
    beforeEach(async () => {
      services = await ForkedServices.start();
      access = await services.service('plain');
    });
    afterEach(() => services.kill());

    /** A webhook in and its station, whose service is asked for a sign of life after a second. */
    function flow(credentials: Record<string, string>, ...further: FlowNode[]): FlowNode[] {
      const { url, apiKey } = access;
      const cloud = { url, credentials: { apiKey }, timeout: 5, deviceRefresh: 0, signOfLife: 1 };
      return webhookFlow({ cloud, station: station({ credentials }) }, ...further);
    }

    const agentUser = (): Record<string, string> => {
      const { username, password } = access;
      return { username, password, secret: PHRASE };
    };

    const shows = (id: string, text: string, since: number): Promise<void> =>
      showsOf(nodeRed, new RegExp(`^${text}`), id, since);

    const stationInSidebar = async () => (await overviewOf(nodeRed)).stations[0]?.status.text ?? '';

    it('shows on every node of the station that it died, with no message', async () => {
      const since = nodeRed.seen.length;
      const nodes = ['rvm-list-devices', 'rvm-get-rtsp'].map((type) =>
        caller(type, { id: type, wires: [[], []] }),
      );
      await nodeRed.deploy(flow(agentUser(), ...nodes));
      for (const { id } of nodes) await shows(id, 'connected v3', since);
      await eventually(async () => (await services.paths(access)).includes('GET /devices'), 'the last call');
      await services.kill();
      for (const { id } of nodes) await shows(id, 'offline since', since);
      await shows('webhook', 'offline since', since);
    });

    it('is asked, and shows that it died, where the station is one of a webhook in alone', async () => {
      const since = nodeRed.seen.length;
      await nodeRed.deploy(flow(agentUser()));
      await eventually(async () => (await stationInSidebar()) === 'connected v3', 'the login');
      await services.kill();
      await shows('webhook', 'offline since', since);
      assert.match(await stationInSidebar(), /^offline since/);
    });

    it('is left alone by a station without an Agent User', async () => {
      const { secret = '' } = agentUser();
      // The other one shows how much time is over.
      const credentials = { ...agentUser(), secret: 'another phrase of the test' };
      const other = station({ id: 'other-station', key: 'other', name: 'Other', credentials });
      // What a deploy leaves out stays as it was.
      await nodeRed.deploy([...flow({ username: '', password: '', secret }), other]);
      const count = async (wanted: string): Promise<number> =>
        (await services.paths(access)).filter((path) => path === wanted).length;
      await eventually(async () => (await count('GET /system')) >= 4, 'the questions of the other');
      assert.equal(await count('POST /login'), 1);
      assert.equal(await stationInSidebar(), '', 'it is none that has failed');
    });
  });
