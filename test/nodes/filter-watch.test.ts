import assert from 'node:assert/strict';
import type { StationClient } from '../../lib/cloud/station-client';
import { toDevice } from '../../lib/cloud/cameras/device-record';
import type { Device } from '../../lib/device';
import type { FilterIds } from '../../lib/message/event-filter';
import type { JudgedIds } from '../../lib/message/known-ids';
import { FilterWatch } from '../../nodes/rvm-webhook-in/filters/filter-watch';
import { proven } from '../inbox/samples';
import { InlineInbox } from '../support/inbox/inline-inbox';
import { eventually } from '../support/time/patience';

/** An id that nobody ever knows: once it is called unknown, all others were looked at. */
const NOBODY = 'nobody';

describe('a look at what a webhook node is to take', () => {
  let opened: InlineInbox[];
  let inboxes: InlineInbox[];
  let listed: Device[];
  let watch: FilterWatch;
  let changes: number;
  beforeEach(async () => {
    opened = [new InlineInbox(), new InlineInbox()];
    inboxes = opened;
    listed = [toDevice({ id: 'cam-1', remoteId: 'r-1', site: 'Depot' }), toDevice({ id: 'cam-2' })];
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

  /** Looks, and waits until what is unknown is another. */
  async function look(): Promise<JudgedIds> {
    const before = changes;
    watch.stop();
    watch.start();
    await eventually(() => changes > before, 'a change of what is unknown');
    return watch.unknown;
  }

  async function unknownOf(wanted: Partial<FilterIds>): Promise<JudgedIds> {
    const client = { listDevices: async () => listed } as unknown as StationClient;
    watch = new FilterWatch({
      wanted: { classes: [], sites: [], cameras: [], rules: [], ...wanted },
      inboxes: () => inboxes,
      stations: () => [{ key: 'north', client: async () => client }],
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
    await inboxes[0]?.accept(proven({ eventClass: 'own' }));
    const first = await unknownOf({ classes: ['own', NOBODY], cameras: ['cam-2'] });
    assert.deepEqual(first, { classes: [NOBODY], sites: [], cameras: [] });
    // No event any more; and something else that changes.
    inboxes = [];
    listed = [];
    assert.deepEqual(await look(), { classes: [NOBODY], sites: [], cameras: ['cam-2'] });
  });

  it('knows at once what an event names that comes', async () => {
    assert.deepEqual((await unknownOf({ classes: ['own', NOBODY] })).classes, ['own', NOBODY]);
    watch.came({ eventClass: 'Own' });
    assert.deepEqual([watch.unknown.classes, changes], [[NOBODY], 2]);
  });

  it('tells what it keeps only to who asks about all of its stations', async () => {
    await unknownOf({ classes: ['own', NOBODY] });
    watch.came({ eventClass: 'own' });
    assert.deepEqual(
      [['north', 'south'], ['south']].map((keys) => watch.namedAt(new Set(keys)).classes),
      [['own'], []],
    );
  });

  it('calls nothing unknown while an inbox cannot be read', async () => {
    await unknownOf({ classes: [NOBODY] });
    for (const inbox of inboxes) inbox.fails = true;
    assert.deepEqual((await look()).classes, []);
  });
});
