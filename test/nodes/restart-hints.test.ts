import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { cloud, station } from '../support/node-red/flows';
import { entrance, inject, NodeRed, probes, watched, type FlowNode } from '../support/node-red/node-red';
import { caller } from '../support/node-red/station-flow';
import { PagedDevices, remoteIdOf } from '../support/service/paged-devices';
import { Gate } from '../support/time/patience';

function flowOf(ofCloud: Record<string, unknown>, credentials: object, node: FlowNode): FlowNode[] {
  return watched(
    cloud(ofCloud),
    station({ credentials }),
    ...entrance('in', 'node'),
    node,
    ...probes('result', 'failed'),
  );
}

describe('the first alarm after a restart of Node-RED', () => {
  let service: PagedDevices;
  let nodeRed: NodeRed;
  beforeEach(async () => {
    service = await PagedDevices.start({ devices: 300, pageSize: 10 });
    nodeRed = await NodeRed.start();
  });
  afterEach(async () => {
    await nodeRed?.stopAndRemove();
    await service.close();
  });

  const flow = (): FlowNode[] => {
    const { apiKey, username, password, url } = service;
    const ofCloud = { url, credentials: { apiKey } };
    return flowOf(ofCloud, { username, password }, caller('rvm-get-rtsp', { mode: 'event' }));
  };

  async function alarmOfTheLastCamera(): Promise<Record<string, unknown>> {
    const ids = { cameraId: service.ids.at(-1), cameraRemoteId: remoteIdOf(service.ids.length - 1) };
    await inject(nodeRed, 'in', { event: { ...ids, eventStartTime: '2026-11-21T10:00:00' } });
    const { rtsp } = await nodeRed.message('result');
    return rtsp as Record<string, unknown>;
  }

  it('has its video while the list of cameras has not come yet', async () => {
    await nodeRed.deploy(flow());
    await alarmOfTheLastCamera();
    await nodeRed.stop();

    const asked = { ...service.asked };
    const list = new Gate();
    service.beforePage = () => list.opened;
    await nodeRed.restart();
    const { cameraId, requests } = await alarmOfTheLastCamera();
    assert.equal(cameraId, service.ids.at(-1));
    assert.ok(Number(requests) <= 4);
    assert.deepEqual([service.asked.dataSources, service.asked.rtsp], [asked.dataSources, asked.rtsp + 1]);
    list.open();
  });

  it('costs a line in the log, and nothing else, where nothing could be kept', async () => {
    fs.mkdirSync(path.join(nodeRed.userDir, 'remote-monitoring'), { recursive: true });
    fs.writeFileSync(path.join(nodeRed.userDir, 'remote-monitoring', 'hints'), 'no folder');
    await nodeRed.deploy(flow());
    await alarmOfTheLastCamera();
    await nodeRed.logged(/cannot be kept in the folder remote-monitoring/);
    await nodeRed.stop();
    assert.equal(nodeRed.log.match(/cannot be kept/g)?.length, 1);
  });
});

describe('the sandbox', () => {
  it('leaves nothing behind of its cameras, which have other ids at the next start', async () => {
    await NodeRed.with({}, async (nodeRed) => {
      const list = caller('rvm-list-devices');
      await nodeRed.deploy(flowOf({ url: 'sandbox', credentials: {} }, {}, list));
      await inject(nodeRed, 'in', {});
      await nodeRed.message('result');
      await nodeRed.stop();
      assert.equal(fs.existsSync(path.join(nodeRed.userDir, 'remote-monitoring', 'hints')), false);
    });
  });
});
