import assert from 'node:assert/strict';
import type { StationClient } from '../../lib/cloud/station-client';
import { toDevice } from '../../lib/cloud/cameras/device-directory';
import type { Device } from '../../lib/device';
import { RvmError } from '../../lib/error';
import type { FilterIds, JudgedIds } from '../../lib/message/event-filter';
import { FilterWatch } from '../../nodes/rvm-webhook-in/message-checks';
import { proven } from '../inbox/samples';
import { InlineInbox } from '../support/inbox/each-store';
import { eventually } from '../support/time/patience';

/** An id that nobody ever knows: once it is called unknown, all others were looked at. */
const NOBODY = 'nobody';
const NO_AGENT_USER = new RvmError('CONFIG_MISSING', 'It has no Agent User.');

describe('a look at what a webhook node is to take', () => {
  let opened: InlineInbox[];
  let inboxes: InlineInbox[];
  let listed: Device[] | RvmError;
  let stations: string[];
  let watch: FilterWatch;
  let changes: number;
  beforeEach(async () => {
    opened = [new InlineInbox(), new InlineInbox()];
    inboxes = opened;
    listed = [toDevice({ id: 'cam-1', remoteId: 'r-1', site: 'Depot' }), toDevice({ id: 'cam-2' })];
    stations = ['north'];
    changes = 0;
    await eventually(() => inboxes.every((inbox) => inbox.state().durable === true), 'the inboxes');
  });
  afterEach(async () => {
    watch.stop();
    for (const inbox of opened) {
      inbox.fails = false;
      await inbox.close();
    }
  });

  const came = async (event: Record<string, unknown>, stationKey = 'north'): Promise<unknown> =>
    inboxes[0]?.accept(proven(event, { stationKey }));

  /** Looks, and waits until what is unknown is another. */
  async function look(): Promise<JudgedIds> {
    const before = changes;
    watch.stop();
    watch.start();
    await eventually(() => changes > before, 'a change of what is unknown');
    return watch.unknown;
  }

  async function unknownOf(wanted: Partial<FilterIds>): Promise<JudgedIds> {
    const listDevices = async (): Promise<Device[]> => {
      if (listed instanceof RvmError) throw listed;
      return listed;
    };
    const client = { listDevices } as unknown as StationClient;
    watch = new FilterWatch({
      wanted: { classes: [], sites: [], cameras: [], rules: [], ...wanted },
      inboxes: () => inboxes,
      stations: () => stations.map((key) => ({ key, client: async () => client })),
      changed: () => (changes += 1),
    });
    return look();
  }

  it('knows a listed camera by either id', async () => {
    const { cameras } = await unknownOf({ cameras: ['cam-1', 'r-1', NOBODY] });
    assert.deepEqual(cameras, [NOBODY]);
  });

  it('knows what events have named, whichever inbox has them', async () => {
    await inboxes[1]?.accept(proven({ eventClass: 'own', locationId: 'site-1', cameraRemoteId: 'r-9' }));
    assert.deepEqual(
      await unknownOf({ classes: ['own', NOBODY], sites: ['site-1', NOBODY], cameras: ['r-9', NOBODY] }),
      { classes: [NOBODY], sites: [NOBODY], cameras: [NOBODY] },
    );
  });

  it('keeps what an inbox has told of once, whatever the inbox tells later', async () => {
    await came({ eventClass: 'own' });
    const first = await unknownOf({ classes: ['own', NOBODY], cameras: ['cam-2'] });
    assert.deepEqual(first, { classes: [NOBODY], sites: [], cameras: [] });
    // No event any more; and something else that changes.
    inboxes = [];
    listed = [];
    assert.deepEqual(await look(), { classes: [NOBODY], sites: [], cameras: ['cam-2'] });
  });

  it('knows at once what an event names that comes, and tells it only to who asks about all of its stations', async () => {
    assert.deepEqual((await unknownOf({ classes: ['own', NOBODY] })).classes, ['own', NOBODY]);
    watch.came({ eventClass: 'Own' });
    assert.deepEqual([watch.unknown.classes, changes], [[NOBODY], 2]);
    const named = [['north', 'south'], ['south']].map((keys) => watch.namedAt(new Set(keys)).classes);
    assert.deepEqual(named, [['own'], []]);
  });

  it('calls nothing unknown while an inbox cannot be read', async () => {
    await unknownOf({ classes: [NOBODY] });
    for (const inbox of inboxes) inbox.fails = true;
    assert.deepEqual((await look()).classes, []);
  });

  describe('without a list, as of a station that can only receive', () => {
    beforeEach(() => (listed = NO_AGENT_USER));

    it('calls a site, and a camera, unknown of which no event that came has been', async () => {
      await came({ locationId: 'site-1', locationName: 'Harbour Depot', cameraId: 'cam-1' });
      const wanted = { sites: ['Harbor Depot'], cameras: ['cam-2'] };
      assert.deepEqual(await unknownOf(wanted), { classes: [], ...wanted });
    });

    const QUIET = { sites: ['Depot', 'Quiet'] };
    const NOT_HAD = new RvmError('NETWORK', 'The service does not answer.');
    for (const [title, event, wanted, list] of [
      [
        'beside one of which an event has been, for its events may yet come',
        { locationName: 'Depot' },
        QUIET,
      ],
      ['before any event has come', undefined, { sites: ['Depot'] }],
      [
        'where the events that came name none',
        { cameraId: null, cameraRemoteId: null },
        { cameras: ['cam-2'] },
      ],
      ['where the list cannot be had just now', { locationName: 'Depot' }, { sites: ['Quay'] }, NOT_HAD],
    ] as [string, Record<string, unknown> | undefined, Partial<FilterIds>, RvmError?][])
      it(`calls none unknown ${title}`, async () => {
        listed = list ?? NO_AGENT_USER;
        if (event !== undefined) await came(event);
        const unknown = await unknownOf({ classes: [NOBODY], ...wanted });
        assert.deepEqual(unknown, { classes: [NOBODY], sites: [], cameras: [] });
      });

    it('calls none unknown of which an event has come since, and none beside it', async () => {
      await came({ locationName: 'Depot' });
      assert.deepEqual((await unknownOf({ sites: ['Quay', 'Quiet'] })).sites, ['Quay', 'Quiet']);
      watch.came({ locationName: 'Quay' });
      assert.deepEqual(watch.unknown.sites, []);
    });

    it('calls none unknown while events of one station alone have come', async () => {
      stations = ['north', 'south'];
      await came({ locationName: 'Depot' });
      const { classes, sites } = await unknownOf({ classes: [NOBODY], sites: ['Quay'] });
      assert.deepEqual([classes, sites], [[NOBODY], []]);
      await came({ locationName: 'Mill' }, 'south');
      assert.deepEqual((await look()).sites, ['Quay']);
    });
  });
});
