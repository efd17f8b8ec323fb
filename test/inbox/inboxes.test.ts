import assert from 'node:assert/strict';
import type { InboxSettings, ListQuery, MessageList } from '../../lib/inbox/model';
import { Inboxes, type InboxClaim, type InboxLocation } from '../../lib/inbox/inboxes';
import { storeFailed } from '../../lib/inbox/store/port';
import { InlineInbox } from '../support/inbox/each-store';
import { allSettled, DAY, ENDPOINT, proven, Taker } from './samples';
import { eventually } from '../support/time/patience';

const settings = (changes: Partial<InboxSettings> = {}): InboxSettings => ({
  spillFolder: '',
  keyDays: 7,
  bodyDays: 30,
  ...changes,
});

/** An inbox that tells how it is kept. */
class ConfiguredInbox extends InlineInbox {
  readonly configurations: Parameters<InlineInbox['configure']>[0][] = [];
  isClosed = false;
  checks = 0;

  override configure(keeping: Parameters<InlineInbox['configure']>[0]): void {
    this.configurations.push(keeping);
  }

  override checkSpillFolder(): void {
    this.checks += 1;
  }

  override async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await super.close();
  }

  #listing: Promise<void> | undefined;

  /** What it is asked to list is there later, or never. */
  listsLater(): { now: () => void; never: () => void } {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#listing = promise;
    return { now: resolve, never: () => reject(storeFailed('it cannot be read')) };
  }

  override async list(query: ListQuery): Promise<MessageList> {
    await this.#listing;
    return super.list(query);
  }

  /** In days. */
  get keys(): number {
    return (this.configurations.at(-1)?.keep.keys ?? 0) / DAY;
  }
}

describe('the inboxes of a process', () => {
  let inboxes: Inboxes;
  let opened: Map<string, ConfiguredInbox>;
  let leftBehind: [string, number][];
  let abandoned: [string, number][];

  beforeEach(() => {
    opened = new Map();
    leftBehind = [];
    abandoned = [];
    inboxes = new Inboxes({
      onLeftBehind: ({ title }, count) => leftBehind.push([title, count]),
      onAbandoned: ({ title }, count) => abandoned.push([title, count]),
      abandonedAfter: 1,
    });
  });
  afterEach(() => Promise.all([...opened.values()].map((inbox) => inbox.close())));

  const place = (changes: Partial<InboxLocation> & { title: string }): InboxLocation => ({
    key: changes.title,
    store: changes.title,
    open: (keeping) => {
      const inbox = new ConfiguredInbox();
      inbox.configure(keeping);
      opened.set(changes.key ?? changes.title, inbox);
      return inbox;
    },
    ...changes,
  });
  /** A folder of this machine. */
  const claimed = (folder: string, wanted?: InboxSettings): InboxClaim =>
    inboxes.claim(place({ title: folder, folder }), wanted);
  /** A schema of a database, reached with one login or another. */
  const claimedBy = (login: string): InboxClaim =>
    inboxes.claim(
      place({ key: login, store: 'host/database x', title: 'host/database, schema x' }),
      settings(),
    );

  const at = (folder: string): ConfiguredInbox => opened.get(folder) ?? assert.fail(`${folder} is not open`);

  it('are one for each folder, opened at the first claim', () => {
    const [one, same, other] = [claimed('/a'), claimed('/a', settings()), claimed('/b')];
    assert.equal(one.inbox, same.inbox);
    assert.notEqual(one.inbox, other.inbox);
    assert.deepEqual(
      inboxes.all().map((open) => [open.place.folder, open.inbox]),
      [
        ['/a', one.inbox],
        ['/b', other.inbox],
      ],
    );
  });

  it('are kept as the first claim lays down, which overrules others that differ', () => {
    const first = claimed('/a', settings({ keyDays: 9 }));
    const same = claimed('/a', settings({ keyDays: 9 }));
    const other = claimed('/a', settings({ keyDays: 8 }));
    const user = claimed('/a');
    assert.deepEqual(
      [first, same, other, user].map((claim) => claim.isOverruled()),
      [false, false, true, false],
    );
    assert.equal(at('/a').keys, 9);
    first.release();
    same.release();
    assert.equal(other.isOverruled(), false);
    assert.equal(at('/a').keys, 8);
  });

  it('spill into their own folder, or where they are told, from there', () => {
    claimed('/a');
    claimed('/b', settings({ spillFolder: 'beside' }));
    claimed('/c', settings({ spillFolder: '/elsewhere' }));
    const folders = ['/a', '/b', '/c'].map((folder) => at(folder).configurations.at(-1)?.spillFolder);
    assert.deepEqual(folders, ['/a/spill', '/b/beside', '/elsewhere']);
  });

  it('keep their settings over a deploy, and lose them with the next start that claims none', () => {
    const before = claimed('/a', settings({ keyDays: 9 }));
    before.release();
    assert.equal(at('/a').keys, 9, 'while the flows are stopped');
    claimed('/a');
    inboxes.flowsStarted();
    assert.equal(at('/a').keys, 7);
  });

  it('stay open while anybody claims them, and are closed at the next start of the flows', async () => {
    const [one, other] = [claimed('/a'), claimed('/a')];
    one.release();
    inboxes.flowsStarted();
    assert.equal(at('/a').isClosed, false);
    other.release();
    assert.equal(at('/a').isClosed, false, 'what arrives before the next start is stored');
    inboxes.flowsStarted();
    await eventually(() => at('/a').isClosed, 'the end of the inbox');
    assert.deepEqual(inboxes.all(), []);
    assert.deepEqual(leftBehind, []);
  });

  it('have an id that is never that of a later one', async () => {
    const claim = claimed('/a');
    const [first] = inboxes.all();
    const former = at('/a');
    claim.release();
    inboxes.flowsStarted();
    await eventually(() => former.isClosed, 'the end of the former one');
    claimed('/a');
    assert.notEqual(inboxes.all()[0]?.id, first?.id);
  });

  it('stay open where they are claimed before it is known what nobody settled there, and no second store is opened', async () => {
    const claim = claimed('/a');
    await claim.inbox.accept(proven());
    claim.release();
    const listed = at('/a').listsLater();
    inboxes.flowsStarted();
    const again = claimed('/a');
    assert.equal(again.inbox, claim.inbox);
    listed.now();
    await again.inbox.accept(proven());
    inboxes.flowsStarted();
    assert.deepEqual([at('/a').isClosed, leftBehind, inboxes.all().length], [false, [], 1]);
    again.release();
    inboxes.flowsStarted();
    inboxes.flowsStarted();
    await eventually(() => at('/a').isClosed, 'the end of the inbox');
    assert.deepEqual(leftBehind, [['/a', 2]]);
  });

  it('are closed, and their files free, where they cannot say what nobody settled', async () => {
    const claim = claimed('/a');
    at('/a').listsLater().never();
    claim.release();
    inboxes.flowsStarted();
    await eventually(() => at('/a').isClosed, 'the end of the inbox');
    assert.deepEqual([leftBehind, inboxes.all()], [[], []]);
  });

  it('tell how many events nobody settled, where one is closed', async () => {
    const claim = claimed('/a');
    await claim.inbox.accept(proven());
    await claim.inbox.accept(proven());
    claim.release();
    inboxes.flowsStarted();
    await eventually(() => leftBehind.length > 0, 'the word about them');
    assert.deepEqual(leftBehind, [['/a', 2]]);
  });

  it('tell how many events wait for consumers that are gone', async () => {
    const { inbox } = claimed('/a');
    await inbox.accept(proven());
    await inbox.accept(proven({}, { endpointId: 'gone' }));
    const taker = new Taker(inbox);
    await allSettled(inbox, 1);
    assert.deepEqual([inbox.hasConsumer(ENDPOINT), inbox.hasConsumer('gone')], [true, false]);
    inboxes.flowsStarted();
    await eventually(() => abandoned.length > 0, 'the word about them');
    assert.deepEqual(abandoned, [['/a', 1]]);
    assert.equal(taker.ids.length, 1);
  });

  it('are asked at each start of the flows whether they could spill', () => {
    claimed('/a');
    inboxes.flowsStarted();
    inboxes.flowsStarted();
    assert.equal(at('/a').checks, 2);
  });

  describe('in a database', () => {
    it('are one for each schema, opened as the first claim has it, which overrules others', () => {
      const [first, same, other] = [claimedBy('one'), claimedBy('one'), claimedBy('other')];
      assert.equal(same.inbox, first.inbox);
      assert.equal(other.inbox, first.inbox);
      assert.deepEqual(
        [first, same, other].map((claim) => claim.isOverruled()),
        [false, false, true],
      );
    });

    it('are opened anew where a deploy changes the login, and the former one is closed', async () => {
      claimedBy('former').release();
      const claim = claimedBy('new');
      assert.equal(claim.isOverruled(), false);
      assert.notEqual(claim.inbox, at('former'));
      inboxes.flowsStarted();
      await eventually(() => at('former').isClosed, 'the end of the former one');
      assert.equal(at('new').isClosed, false);
    });

    it('leave nothing behind while their schema is reached with another login', async () => {
      const former = claimedBy('former');
      await former.inbox.accept(proven());
      former.release();
      claimedBy('new');
      inboxes.flowsStarted();
      await eventually(() => at('former').isClosed, 'the end of the former one');
      assert.deepEqual(leftBehind, []);
    });

    it('are kept as told, and spill nowhere', () => {
      claimedBy('one');
      assert.deepEqual(at('one').configurations.at(-1), {
        spillFolder: '',
        keep: { keys: 7 * DAY, bodies: 30 * DAY },
      });
    });
  });
});
