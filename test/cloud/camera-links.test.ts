import assert from 'node:assert/strict';
import { CameraLinks, RemoteIds } from '../../lib/cloud/cameras/camera-resolver';
import { DeviceDirectory, type DeviceEntry } from '../../lib/cloud/cameras/device-directory';
import { STATION_TIMING } from '../../lib/cloud/timing';
import { Operation } from '../../lib/cloud/operation';
import { Origins } from '../../lib/cloud/http/origins';
import { StationSession } from '../../lib/cloud/session/session';
import { StationStatus } from '../../lib/cloud/session/service-health';
import { Transport } from '../../lib/cloud/http/transport';
import { camera, ScriptedService } from '../support/service/scripted-service';
import { failure, settingsOf } from '../support/service/scripted-station';

const PRESETS = 'rel/ptz_presets';
const SNAPSHOT = 'rel/snapshot';

describe('what the data sources of a camera offer', () => {
  let service: ScriptedService;
  let transport: Transport;
  let links: CameraLinks;
  let gate: DeviceEntry;

  beforeEach(async () => {
    service = await ScriptedService.start();
    const settings = settingsOf(service);
    const origins = new Origins(settings.baseUrl, [], []);
    transport = new Transport({ ...settings, secrets: [] }, STATION_TIMING);
    const session = new StationSession(transport, origins, settings, STATION_TIMING, new StationStatus());
    const directory = new DeviceDirectory(session, origins, STATION_TIMING, ['rel/self']);
    links = new CameraLinks(session, directory, new RemoteIds(directory), origins);
    gate = await entryOf(
      directory,
      camera('gate', 'Gate', { _links: { 'rel/data_sources': '/sources/Gate' } }),
    );
  });

  afterEach(async () => {
    await transport.close();
    await service.close();
  });

  async function entryOf(directory: DeviceDirectory, record: Record<string, unknown>): Promise<DeviceEntry> {
    service.on('GET', '/devices', { json: [record] });
    await directory.ensureLoaded(new Operation());
    const entry = directory.index.entries[0];
    assert.ok(entry !== undefined);
    return entry;
  }

  function offers(...answers: Record<string, unknown>[]): void {
    service.on('GET', '/sources/Gate', ...answers.map((json) => ({ json })));
  }

  async function pathOf(relation: string): Promise<string> {
    return (await links.offer(new Operation(), gate, [relation])).url.pathname;
  }

  it('is found under any relation, also where there is no rel/rtsp', async () => {
    offers({ data_sources: [{ type: 'video', _links: { [PRESETS]: '/presets', [SNAPSHOT]: '/snapshot' } }] });
    assert.equal(await pathOf(PRESETS), '/presets');
    assert.equal(await pathOf(SNAPSHOT), '/snapshot');
  });

  it('may be spread over several data sources and the record of the camera, and costs one request for all', async () => {
    offers({
      data_sources: [
        { type: 'audio', _links: { 'rel/rtsp': '/sound' } },
        { type: 'video', remoteId: 'remote', _links: { 'rel/rtsp': '/picture' } },
        { type: 'ptz', _links: { [PRESETS]: '/presets' } },
      ],
    });
    const device = { ...gate.device, _links: { ...gate.device._links, [SNAPSHOT]: '/snapshot' } };
    gate = { ...gate, device };
    assert.deepEqual(
      [await pathOf('rel/rtsp'), await pathOf(PRESETS), await pathOf(SNAPSHOT)],
      ['/picture', '/presets', '/snapshot'],
    );
    assert.equal((await links.offer(new Operation(), gate, [PRESETS])).remoteId, 'remote');
    assert.equal(service.count('GET', '/sources/Gate'), 1);
  });

  it('is asked for anew by the next operation where a relation was missing', async () => {
    offers({ _links: { 'rel/rtsp': '/rtsp' } }, { _links: { [PRESETS]: '/presets' } });
    assert.equal(await pathOf('rel/rtsp'), '/rtsp');
    const error = await failure(pathOf(PRESETS), 'LINK_NOT_OFFERED');
    assert.equal(error.cause.relation, PRESETS);
    assert.equal(await pathOf(PRESETS), '/presets');
  });

  it('is asked for anew by the next operation where a link led to a foreign origin', async () => {
    offers({ _links: { [PRESETS]: 'http://foreign.example/' } }, { _links: { [PRESETS]: '/presets' } });
    await failure(pathOf(PRESETS), 'UNTRUSTED_LINK');
    assert.equal(await pathOf(PRESETS), '/presets');
  });
});
