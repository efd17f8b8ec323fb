import assert from 'node:assert/strict';
import { probe, type Gaps } from '../support/service/directory-probe';
import { PagedDevices } from '../support/service/paged-devices';
import { settingsOf } from '../support/service/scripted-station';

const DEVICES = 20_000;
/** What a busy machine adds is no fault of ours, so the best of some counts. */
const LOADS = 5;

async function bestGaps(service: PagedDevices): Promise<Gaps> {
  const best: Gaps = { load: Infinity, refresh: Infinity, allowed: 0 };
  for (let turn = 0; turn < LOADS && Math.max(best.load, best.refresh) > best.allowed; turn += 1) {
    const gaps = await probe({ settings: settingsOf(service), measure: 'gaps', refreshes: 3 });
    best.load = Math.min(best.load, gaps.load);
    best.refresh = Math.min(best.refresh, gaps.refresh);
    best.allowed = Math.max(best.allowed, gaps.allowed);
  }
  return best;
}

describe('event loop beside a directory of 20,000 devices', () => {
  for (const pageSize of [100, 1000, DEVICES]) {
    it(`in pages of ${pageSize} it is never held up for long, first loaded or refreshed`, async () => {
      const service = await PagedDevices.start({ devices: DEVICES, pageSize });
      const { load, refresh, allowed } = await bestGaps(service);
      await service.close();
      assert.ok(load <= allowed, `${load} ms in the first load, of ${allowed}`);
      assert.ok(refresh <= allowed, `${refresh} ms in a refresh, of ${allowed}`);
    });
  }

  it('a block of 60 ms would be seen by that measurement', async () => {
    const service = await PagedDevices.start({ devices: DEVICES, pageSize: 1000 });
    const gaps = await probe({ settings: settingsOf(service), measure: 'gaps', refreshes: 0, block: 60 });
    await service.close();
    // Garbage may be collected in it.
    assert.ok(gaps.load >= 40, `${gaps.load} ms`);
  });
});
