import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Sandbox, type StationCredentials } from '../../sandbox';
import { cloud, station } from '../support/node-red/flows';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import {
  entrance,
  freePort,
  inject,
  NodeRed,
  probe,
  watched,
  type FlowNode,
} from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

interface Failure {
  code: string;
  message: string;
  cause: Record<string, unknown>;
}

interface Camera {
  id: string;
  name: string;
  online: boolean;
}

const START = '2026-03-04T05:06:07.0000000';

function getRtsp(properties: Record<string, unknown> = {}): FlowNode {
  return {
    id: 'rtsp',
    type: 'rvm-get-rtsp',
    z: 'tab',
    station: 'station',
    x: 0,
    y: 0,
    wires: [['result'], ['failed']],
    ...properties,
  };
}

function listDevices(properties: Record<string, unknown> = {}): FlowNode {
  return {
    id: 'list',
    type: 'rvm-list-devices',
    z: 'tab',
    station: 'station',
    x: 0,
    y: 0,
    wires: [['result'], ['failed']],
    ...properties,
  };
}

for (const version of NODE_RED_VERSIONS) {
  describe(`list devices and get RTSP in Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    let sandbox: Sandbox;
    let credentials: StationCredentials;
    let sequence = 0;

    before(async () => {
      sandbox = await Sandbox.start({ eventsPerMinute: 0, seed: 7, rtspPort: 0 });
      credentials = sandbox.setStation('north', { scheme: 'http' });
      nodeRed = await NodeRed.start({ version });
    });

    after(async () => {
      await nodeRed.stopAndRemove();
      await sandbox.close();
    });

    async function deploy(
      changes: { cloud?: Record<string, unknown>; station?: Record<string, unknown> },
      ...nodes: FlowNode[]
    ): Promise<void> {
      await nodeRed.deploy(
        watched(
          cloud({ url: sandbox.url, credentials: { apiKey: sandbox.apiKey }, ...changes.cloud }),
          station({ credentials, ...changes.station }),
          ...entrance('in', ...nodes.map((node) => node.id)),
          ...nodes,
          probe('result'),
          probe('failed'),
        ),
      );
    }

    /** Sends a message through and gives what comes out: at a probe, or at the Catch node. */
    async function through(
      msg: Record<string, unknown>,
      outcome: 'result' | 'failed' | 'caught',
    ): Promise<Record<string, unknown>> {
      sequence += 1;
      const mark = sequence;
      await inject(nodeRed, 'in', { ...msg, mark });
      return nodeRed.message(outcome, (seen) => seen.mark === mark);
    }

    async function failure(msg: Record<string, unknown>): Promise<Failure> {
      return (await through(msg, 'failed')).error as Failure;
    }

    async function cameras(): Promise<Camera[]> {
      await deploy({}, listDevices());
      return (await through({}, 'result')).payload as Camera[];
    }

    async function eventOf(condition: (camera: Camera) => boolean): Promise<Record<string, unknown>> {
      const camera = (await cameras()).find(condition);
      assert.ok(camera !== undefined);
      return { cameraId: camera.id, cameraName: camera.name, eventStartTime: START };
    }

    const online = (camera: Camera): boolean => camera.online;

    it('lists the cameras with id, name, site, status and online, without links', async () => {
      const list = await cameras();
      assert.ok(list.length > 10);
      for (const camera of list) {
        for (const field of ['id', 'name', 'site', 'status', 'online']) assert.ok(field in camera, field);
        assert.equal('_links' in camera, false);
      }
      assert.deepEqual(new Set(list.map((camera) => camera.online)), new Set([true, false]));
    });

    it('shows online cameras only, or the others only, and links where asked for', async () => {
      await deploy({}, listDevices({ show: 'online', links: true }));
      const on = (await through({}, 'result')).payload as (Camera & { _links?: unknown })[];
      assert.ok(on.length > 0 && on.every((camera) => camera.online && camera._links !== undefined));
      await deploy({}, listDevices({ show: 'not-online' }));
      const off = (await through({}, 'result')).payload as Camera[];
      assert.ok(off.length > 0 && off.every((camera) => !camera.online));
    });

    it('keeps the other properties of a message', async () => {
      await deploy({}, listDevices());
      const msg = await through({ topic: 'mine', extra: { kept: true } }, 'result');
      assert.equal(msg.topic, 'mine');
      assert.deepEqual(msg.extra, { kept: true });
    });

    it('finds the video of an event, and a warm one costs one request', async () => {
      const event = await eventOf(online);
      await deploy({}, getRtsp());
      await through({ event }, 'result');
      const msg = await through({ event, payload: 'kept by others' }, 'result');
      const rtsp = msg.rtsp as Record<string, unknown>;
      assert.match(String(msg.payload), /^rtsp:\/\/127\.0\.0\.1:\d+\/\S+$/);
      assert.equal(rtsp.url, msg.payload);
      assert.equal(rtsp.mode, 'event');
      assert.equal(rtsp.cameraId, event.cameraId);
      assert.notEqual(rtsp.cameraRemoteId, event.cameraId);
      assert.equal(rtsp.quality, 'high');
      assert.equal(rtsp.t, START);
      assert.equal(rtsp.requests, 1);
      assert.equal((rtsp.relay as { scheme: string }).scheme, 'rtsp');
      assert.equal((rtsp.device as { id: string }).id, event.cameraId);
    });

    it('takes the event from the payload where msg.event is absent', async () => {
      const event = await eventOf(online);
      await deploy({}, getRtsp());
      assert.match(String((await through({ payload: event }, 'result')).payload), /^rtsp:/);
    });

    it('takes the station from msg.station, else from the event, and says CONFIG_MISSING where none is named', async () => {
      const event = await eventOf(online);
      await deploy({}, getRtsp({ station: '' }));
      await through({ event, station: 'north' }, 'result');
      await through({ event, webhook: { station: 'north' } }, 'result');
      assert.equal((await failure({ event })).code, 'CONFIG_MISSING');
      assert.equal((await failure({ event, station: 'nowhere' })).code, 'CONFIG_MISSING');
    });

    it('hands a failure to Catch nodes where output 2 is not wired', async () => {
      await deploy({}, getRtsp({ wires: [['result'], []] }));
      const msg = await through({ event: { cameraId: 'unknown', eventStartTime: START } }, 'caught');
      const error = msg.error as Failure;
      assert.equal(error.code, 'DEVICE_NOT_FOUND');
      assert.match(error.message, /\w+/);
      assert.equal(typeof error.cause, 'object');
    });

    it('names each fault of an event by its code, and works with the next good one', async () => {
      const good = await eventOf(online);
      const offline = await eventOf((camera) => !camera.online);
      await deploy({}, getRtsp());
      assert.equal(
        (await failure({ event: { eventClass: 'health', eventStartTime: START } })).code,
        'EVENT_WITHOUT_CAMERA',
      );
      assert.equal(
        (await failure({ event: { cameraId: 'nobody', eventStartTime: START } })).code,
        'DEVICE_NOT_FOUND',
      );
      assert.equal((await failure({ event: offline })).code, 'DEVICE_OFFLINE');
      assert.equal((await failure({ payload: 'no event' })).code, 'BAD_INPUT');
      assert.equal((await failure({ event: [good] })).code, 'BAD_INPUT');
      await through({ event: good }, 'result');
    });

    it('shows the version while connected', async () => {
      await deploy({}, getRtsp());
      await nodeRed.until(() => nodeRed.statuses('rtsp').at(-1) === 'connected v3', 'the status');
    });

    it('says LOGIN_FAILED and "wrong password" with a wrong password', async () => {
      await deploy({ station: { credentials: { ...credentials, password: 'wrong' } } }, listDevices());
      assert.equal((await failure({})).code, 'LOGIN_FAILED');
      await nodeRed.until(() => nodeRed.statuses('list').at(-1) === 'status.wrongPassword', 'the status');
    });

    it('says API_KEY_REJECTED and "wrong API key" with a wrong key', async () => {
      await deploy({ cloud: { credentials: { apiKey: 'wrong' } } }, listDevices());
      assert.equal((await failure({})).code, 'API_KEY_REJECTED');
      await nodeRed.until(() => nodeRed.statuses('list').at(-1) === 'status.wrongApiKey', 'the status');
    });

    it('says INCOMPATIBLE_VERSION and "incompatible" where the service supports none of the versions', async () => {
      await deploy({ cloud: { versionLow: '7', versionHigh: '8' } }, listDevices());
      const error = await failure({});
      assert.equal(error.code, 'INCOMPATIBLE_VERSION');
      assert.equal(error.cause.status, 501);
      await nodeRed.until(() => nodeRed.statuses('list').at(-1) === 'status.incompatible', 'the status');
    });

    it('says CONFIG_MISSING for an Agent User, key, address or variable that is lacking', async () => {
      const lacking: Parameters<typeof deploy>[0][] = [
        { station: { credentials: { username: '', password: '', secret: 'only receives' } } },
        { cloud: { credentials: { apiKey: '' } } },
        { cloud: { url: '' } },
        { station: { cloud: '' } },
        { cloud: { credentials: { apiKey: '${RVM_TEST_UNSET}' } } },
        { station: { credentials: { ...credentials, password: '$(RVM_TEST_UNSET)' } } },
      ];
      for (const changes of lacking) {
        await deploy(changes, listDevices());
        assert.equal((await failure({})).code, 'CONFIG_MISSING', JSON.stringify(changes));
      }
      assert.match((await failure({})).message, /RVM_TEST_UNSET/);
      await nodeRed.until(
        () => nodeRed.statuses('list').at(-1) === 'RVM_TEST_UNSET is not set',
        'the status',
      );
    });

    it('names each variable that cloud and station lack, in message and status', async () => {
      const station = {
        credentials: { ...credentials, username: '${RVM_NO_NAME}', password: '${RVM_NO_KEY}' },
      };
      const cloudOfVariables = { url: '${RVM_NO_URL}', credentials: { apiKey: '$(RVM_NO_KEY)' } };
      await deploy({ station, cloud: cloudOfVariables }, listDevices());
      const { code, message } = await failure({});
      assert.equal(code, 'CONFIG_MISSING');
      assert.match(message, /variables RVM_NO_NAME, RVM_NO_KEY, RVM_NO_URL are not set/);
      const shown = 'RVM_NO_NAME, RVM_NO_KEY, RVM_NO_URL are not set';
      await nodeRed.until(() => nodeRed.statuses('list').at(-1) === shown, 'the status');
      await deploy({ station, cloud: cloudOfVariables }, listDevices({ search: '${RVM_NO_SEARCH}' }));
      await nodeRed.until(() => nodeRed.statuses('list').at(-1) === `RVM_NO_SEARCH, ${shown}`, 'the status');
    });

    it('says NETWORK and "offline since" while the service is down, and recovers by itself', async () => {
      const port = await freePort();
      await deploy({ cloud: { url: `http://127.0.0.1:${port}` } }, listDevices({ deadline: 1 }));
      assert.equal((await failure({})).code, 'NETWORK');
      await nodeRed.until(
        () => /^offline since \d/.test(nodeRed.statuses('list').at(-1) ?? ''),
        'the status',
      );

      const later = await Sandbox.start({ port, rtspPort: 0, eventsPerMinute: 0, apiKey: sandbox.apiKey });
      try {
        later.setStation('north', { scheme: 'http', ...credentials });
        const isBack = async (): Promise<boolean> => {
          sequence += 1;
          const mark = sequence;
          await inject(nodeRed, 'in', { mark });
          await nodeRed.until(() => nodeRed.seen.some(({ msg }) => msg.mark === mark), 'an outcome');
          return nodeRed.at('failed').every((msg) => msg.mark !== mark);
        };
        await eventually(isBack, 'the recovery');
        await nodeRed.until(() => nodeRed.statuses('list').at(-1) === 'connected v3', 'the status');
      } finally {
        await later.close();
      }
    });

    it('says HTTP_ERROR with the status where something else answers, and shows no piece of its page raw', async () => {
      const server = http.createServer((_req, res) => {
        res
          .writeHead(500, { 'Content-Type': 'text/html' })
          .end('<html><body><h1>Proxy error</h1></body></html>');
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      try {
        await deploy(
          { cloud: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } },
          listDevices({ deadline: 1 }),
        );
        const error = await failure({});
        assert.equal(error.code, 'HTTP_ERROR');
        assert.equal(error.cause.status, 500);
      } finally {
        server.closeAllConnections();
        server.close();
      }
    });

    it('survives a lost session: the next message logs in again', async () => {
      const event = await eventOf(online);
      await deploy({}, getRtsp());
      await through({ event }, 'result');
      await fetch(`${sandbox.url}/sandbox/faults`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ kind: 'session-expiry' }),
      });
      await through({ event }, 'result');
    });
  });
}
