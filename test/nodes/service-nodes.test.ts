import assert from 'node:assert/strict';
import type { Device } from '../../lib/device';
import { codeOf, node } from '../support/node-red/alarms-through';
import { entrance, inject, probe } from '../support/node-red/node-red';
import {
  caller,
  CALLERS,
  describeWith,
  isOnline,
  StationFlow,
  type Message,
} from '../support/node-red/station-flow';
import { ScriptedService } from '../support/service/scripted-service';

const START = '2026-03-04T05:06:07.0000000';

describeWith(StationFlow, 'list devices and get RTSP', {}, (flow) => {
  const getRtsp = (properties: Message = {}) => caller('rvm-get-rtsp', properties);
  const listDevices = (properties: Message = {}) => caller('rvm-list-devices', properties);

  async function devices(properties: Message = {}): Promise<Device[]> {
    await flow.deploy(listDevices(properties));
    return (await flow.through({})).payload as Device[];
  }

  async function eventOf(online = true): Promise<Message> {
    const { id, name } = await flow.camera((camera) => isOnline(camera) === online);
    return { cameraId: id, cameraName: name, eventStartTime: START };
  }

  it('lists the cameras with id, name, site, status and online, without links, and keeps what else came', async () => {
    const list = await devices();
    assert.ok(list.length > 10);
    for (const camera of list) {
      for (const field of ['id', 'name', 'site', 'status', 'online']) assert.ok(field in camera, field);
      assert.equal('_links' in camera, false);
    }
    assert.deepEqual(new Set(list.map(({ online }) => online)), new Set([true, false]));
    const { topic, extra } = await flow.through({ topic: 'mine', extra: { kept: true } });
    assert.deepEqual([topic, extra], ['mine', { kept: true }]);
  });

  it('shows online cameras only, or the others only, and links where asked for', async () => {
    const on = await devices({ show: 'online', links: true });
    assert.ok(on.length > 0 && on.every((camera) => camera.online && camera._links !== undefined));
    const off = await devices({ show: 'not-online' });
    assert.ok(off.length > 0 && off.every((camera) => !camera.online));
  });

  it('takes the event from the payload where msg.event is absent', async () => {
    await flow.deploy(getRtsp());
    assert.match(String((await flow.through({ payload: await eventOf() })).payload), /^rtsp:/);
  });

  it('takes the station from msg.station, else from the event, and says CONFIG_MISSING where none is named', async () => {
    const event = await eventOf();
    await flow.deploy(getRtsp({ station: '' }));
    await flow.through({ event, station: 'north' });
    await flow.through({ event, webhook: { station: 'north' } });
    assert.equal(await flow.code({ event }), 'CONFIG_MISSING');
    assert.equal(await flow.code({ event, station: 'nowhere' }), 'CONFIG_MISSING');
  });

  it('names each fault of an event by its code, and works with the next good one', async () => {
    const good = await eventOf();
    await flow.deploy(getRtsp());
    for (const [code, msg] of [
      ['EVENT_WITHOUT_CAMERA', { event: { eventClass: 'health', eventStartTime: START } }],
      ['DEVICE_NOT_FOUND', { event: { cameraId: 'nobody', eventStartTime: START } }],
      ['DEVICE_OFFLINE', { event: await eventOf(false) }],
      ['BAD_INPUT', { payload: 'no event' }],
      ['BAD_INPUT', { event: [good] }],
    ] as const)
      assert.equal(await flow.code(msg), code);
    await flow.through({ event: good });
  });

  const password = 'wrong';
  for (const [title, ofCloud, ofStation, code, status] of [
    ['a wrong password', {}, { password }, 'LOGIN_FAILED', 'wrongPassword'],
    ['a wrong key', { credentials: { apiKey: 'wrong' } }, {}, 'API_KEY_REJECTED', 'wrongApiKey'],
    ['no common version', { versionLow: '7', versionHigh: '8' }, {}, 'INCOMPATIBLE_VERSION', 'incompatible'],
  ] as const)
    it(`says ${code} with ${title}, and shows it`, async () => {
      const station = { credentials: { ...flow.credentials, ...ofStation } };
      await flow.deployFlows(flow.flows({ cloud: ofCloud, station }, listDevices()));
      assert.equal(await flow.code({}), code);
      await flow.shows(`status.${status}`);
    });

  it('says CONFIG_MISSING for an Agent User, key, address or variable that is lacking', async () => {
    const { credentials } = flow;
    const lacking: Parameters<StationFlow['flows']>[0][] = [
      { station: { credentials: { username: '', password: '', secret: 'only receives' } } },
      { cloud: { credentials: { apiKey: '' } } },
      { cloud: { url: '' } },
      { station: { cloud: '' } },
      { cloud: { credentials: { apiKey: '${RVM_TEST_UNSET}' } } },
      { station: { credentials: { ...credentials, password: '$(RVM_TEST_UNSET)' } } },
    ];
    for (const changes of lacking) {
      await flow.deployFlows(flow.flows(changes, listDevices()));
      assert.equal(await flow.code({}), 'CONFIG_MISSING', JSON.stringify(changes));
    }
    assert.match((await flow.failure({})).message, /RVM_TEST_UNSET/);
    await flow.shows('RVM_TEST_UNSET is not set');
  });

  it('names each variable that cloud and station lack, in message and status', async () => {
    const lacking = {
      station: {
        credentials: { ...flow.credentials, username: '${RVM_NO_NAME}', password: '${RVM_NO_KEY}' },
      },
      cloud: { url: '${RVM_NO_URL}', credentials: { apiKey: '$(RVM_NO_KEY)' } },
    };
    await flow.deployFlows(flow.flows(lacking, listDevices()));
    const { code, message } = await flow.failure({});
    assert.equal(code, 'CONFIG_MISSING');
    assert.match(message, /variables RVM_NO_NAME, RVM_NO_KEY, RVM_NO_URL are not set/);
    const shown = 'RVM_NO_NAME, RVM_NO_KEY, RVM_NO_URL are not set';
    await flow.shows(shown);
    await flow.deployFlows(flow.flows(lacking, listDevices({ search: '${RVM_NO_SEARCH}' })));
    await flow.shows(`RVM_NO_SEARCH, ${shown}`);
  });

  it('says HTTP_ERROR with the status where something else answers, and shows no piece of its page raw', async () => {
    const other = await ScriptedService.start();
    try {
      other.behaviour = () => ({
        status: 500,
        headers: { 'Content-Type': 'text/html' },
        text: '<html><body><h1>Proxy error</h1></body></html>',
      });
      await flow.deployFlows(flow.flows({ cloud: { url: other.url } }, listDevices({ deadline: 1 })));
      const { code, message, cause } = await flow.failure({});
      assert.deepEqual([code, cause.status], ['HTTP_ERROR', 500]);
      assert.doesNotMatch(message, /<h1>/);
    } finally {
      await other.close();
    }
  });

  describe('a failure', () => {
    before(async () => {
      const nodes = CALLERS.flatMap((type) => [
        caller(type, { id: type, station: '' }),
        caller(type, { id: `${type}-unwired`, station: '', wires: [['result'], []] }),
      ]);
      const ids = nodes.map(({ id }) => id);
      const entrances = ids.flatMap((id) => entrance(`to-${id}`, id));
      const complete = node('complete', { scope: ids, wires: [['completed']] });
      await flow.deploy(...nodes, ...entrances, complete, probe('completed'));
    });

    for (const type of CALLERS)
      it(`leaves ${type} once, by output 2 where that is wired, else for Catch nodes, which its end tells`, async () => {
        const { nodeRed } = flow;
        const from = nodeRed.seen.length;
        const seen = (at: string): unknown[] => nodeRed.at(at, from).map((msg) => [msg.of, codeOf(msg)]);
        await inject(nodeRed, `to-${type}-unwired`, { of: 'unwired' });
        await nodeRed.until(() => seen('caught').length > 0, 'the error');
        for (const of of ['first', 'second']) {
          await inject(nodeRed, `to-${type}`, { of });
          await nodeRed.until(() => seen('completed').some((each) => String(each).startsWith(of)), 'its end');
        }
        const [first, second, unwired] = ['first', 'second', 'unwired'].map((of) => [of, 'CONFIG_MISSING']);
        assert.deepEqual(seen('caught'), [unwired]);
        assert.deepEqual(seen('failed'), [first, second]);
        assert.deepEqual(seen('completed'), [first, second]);
      });
  });

  it('survives a lost session: the next message logs in again', async () => {
    const event = await eventOf();
    await flow.deploy(getRtsp());
    await flow.through({ event });
    await flow.fault({ kind: 'session-expiry' });
    await flow.through({ event });
  });
});
