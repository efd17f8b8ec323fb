import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RtspSession } from '../../lib/cloud/calls';
import { StationClient, type StationClientOptions } from '../../lib/cloud/station-client';
import type { RvmEvent } from '../../lib/event';
import { probe } from '../support/service/directory-probe';
import { Gate, eventually } from '../support/time/patience';
import { PagedDevices, remoteIdOf } from '../support/service/paged-devices';
import { failure, rtspForEvent, settingsOf } from '../support/service/scripted-station';

const DEVICES = 20_000;
/** Of these the service lists so many as offline, the first ones. */
const OFFLINE = 200;

const videoOf = (client: StationClient, ids: RvmEvent): Promise<RtspSession> =>
  rtspForEvent(client, { eventStartTime: '2026-11-21T10:00:00', ...ids });

describe('directory of 20,000 devices', () => {
  for (const pageSize of [100, 1000]) {
    it(`in pages of ${pageSize} needs no more memory after ten refreshes, and during one at most that of two`, async () => {
      const service = await PagedDevices.start({ devices: DEVICES, pageSize });
      const settings = settingsOf(service);
      const memory = await probe({ settings, measure: 'memory', refreshes: 10 });
      await service.close();
      const { empty, loaded, refreshed, peak } = memory;
      const figures = JSON.stringify(memory);
      const one = loaded - empty;
      assert.ok(refreshed < loaded * 1.1, figures);
      assert.ok(peak > loaded && peak < loaded + one, figures);
    });
  }

  describe('in use', () => {
    let service: PagedDevices;
    let opened: StationClient | undefined;

    function station(options: Partial<StationClientOptions> = {}): StationClient {
      opened = new StationClient({ ...settingsOf(service), ...options });
      return opened;
    }

    /** A client whose first refresh stops before its tenth page, and what opens the way for it. */
    async function refreshing(): Promise<{ client: StationClient; gate: Gate }> {
      const client = station({ deviceRefreshMs: 200 });
      await client.listDevices();
      const gate = new Gate();
      service.beforePage = (index) => (index === 10 ? gate.opened : undefined);
      await eventually(() => service.asked.pages === service.pageCount + 11, 'the tenth page of the refresh');
      return { client, gate };
    }

    beforeEach(async () => {
      service = await PagedDevices.start({ devices: DEVICES, pageSize: 1000, offline: OFFLINE });
    });
    afterEach(async () => {
      await opened?.close();
      await service.close();
    });

    it('lists every device once, in the order served', async () => {
      const devices = await station().listDevices();
      const ids = devices.map(({ id }) => id);
      assert.deepEqual(ids, service.ids);
    });

    it('answers from the former list while it is refreshed in the background', async () => {
      const { client, gate } = await refreshing();
      assert.equal((await client.listDevices()).length, DEVICES);
      const session = await videoOf(client, { cameraId: service.ids[DEVICES - 1] ?? '' });
      assert.equal(session.cameraId, service.ids[DEVICES - 1]);
      assert.equal(service.asked.pages, service.pageCount + 11);
      gate.open();
    });

    it('refreshes at the same time, of whatever cause, are one', async () => {
      const { client, gate } = await refreshing();
      const lists = [1, 2, 3].map(() => client.listDevices({ fresh: true }));
      const unknown = failure(videoOf(client, { cameraId: 'nobody' }), 'DEVICE_NOT_FOUND');
      await sleep(300);
      assert.equal(service.asked.pages, service.pageCount + 11);
      gate.open();
      for (const list of lists) assert.equal((await list).length, DEVICES);
      await unknown;
    });

    it('a remote id that no camera has asks no camera, where the list tells the remote ids', async () => {
      const client = station();
      await client.listDevices();
      await failure(videoOf(client, { cameraRemoteId: 'nobody' }), 'DEVICE_NOT_FOUND');
      await failure(client.getDevice('nobody'), 'DEVICE_NOT_FOUND');
      assert.equal(service.asked.details, 0);
    });

    it('remote ids that only details tell are looked for in a bounded number of them, each asked for once', async () => {
      await service.close();
      service = await PagedDevices.start({ devices: DEVICES, pageSize: 1000, remoteIdInDetails: true });
      const client = station();
      const session = await videoOf(client, { cameraRemoteId: remoteIdOf(20) });
      assert.equal(session.cameraId, service.ids[20]);
      const calls = Array.from({ length: 50 }, (_, index) =>
        failure(videoOf(client, { cameraRemoteId: `nobody ${index}` }), 'DEVICE_NOT_FOUND'),
      );
      await Promise.all(calls);
      assert.equal(service.asked.details, 500);
    });

    it('an event of a camera that is listed as offline asks for that camera, not for all', async () => {
      const client = station();
      await client.listDevices();
      service.statusInDetails = 'online';
      const ids = service.ids.slice(0, OFFLINE);
      await Promise.all(ids.map((cameraId) => videoOf(client, { cameraId })));
      assert.equal(service.asked.details, OFFLINE);
      assert.equal(service.asked.pages, service.pageCount);
      // What they have told is remembered.
      await Promise.all(ids.map((cameraId) => videoOf(client, { cameraId })));
      assert.equal(service.asked.details, OFFLINE);
      const devices = await client.listDevices();
      assert.ok(devices.every(({ online }) => online));
    });
  });
});
