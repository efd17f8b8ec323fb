import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { makeDeliveryId, sequenceIn, prepareStatements } from '../../lib/inbox/sqlite/statements';
import { Bodies } from '../../lib/inbox/sqlite/lists';
import { Messages, retentionSweep } from '../../lib/inbox/sqlite/messages';
import { alarmKey, messageKey, KnownMessages } from '../../lib/inbox/sqlite/known-ids';
import { HistoryTable } from '../../lib/inbox/sqlite/tables';
import { openDatabase } from '../../lib/inbox/sqlite/database';
import { Store } from '../../lib/inbox/sqlite/store';
import type { Accepted, NewMessage } from '../../lib/inbox/store/port';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { folderOfEach } from '../support/inbox/folders';
import { DAY, proven } from './samples';
import { may, one } from '../support/suite/deeds';
import { runsOf } from '../support/suite/lanes';

/** A message of few ids, so that most of them are known. */
interface Sent {
  station: string;
  id: string;
  fingerprint: string;
  alarm: string;
  isEnd: boolean;
}
type Deed = { do: 'commit' | 'fail'; batch: Sent[] } | { do: 'reopen' } | { do: 'tidy'; days: number };

const sent: fc.Arbitrary<Sent> = fc.record({
  station: one('north', 'south'),
  id: one('a', 'b', 'c', 'd'),
  fingerprint: one('one', 'other', 'third'),
  alarm: one('fire', 'water'),
  isEnd: fc.boolean(),
});
const deed: fc.Arbitrary<Deed> = fc.oneof(
  may(6, ['commit', 'commit', 'fail'], { batch: fc.array(sent, { minLength: 1, maxLength: 6 }) }),
  may(1, 'reopen'),
  may(1, 'tidy', { days: fc.integer({ min: 1, max: 9 }) }),
);

/** What the inbox must know: kept as a list, and looked for by comparing. */
interface Kept extends Sent {
  deliveryId: string;
  isEvent: boolean;
  ended: boolean;
  at: number;
}

describe('what the store knows of messages and alarms', () => {
  let store: Store;
  const folder = folderOfEach(() => store.close());
  let now: number;
  const file = (): string => path.join(folder(), 'inbox.sqlite');

  beforeEach(() => {
    now = 0;
    store = open();
  });

  const open = (): Store => new Store({ file: file(), resumed: true, monotonic: () => now });
  const template = newMessage(proven());
  const message = (changes: Partial<NewMessage>): NewMessage => ({ ...template, ...changes });

  /** Its clock goes on where it was at its last look. */
  function reopen(): void {
    store.transaction(() => store.work.ping(undefined));
    store.close();
    store = open();
  }

  /** Accepts, and says that the flow has had it: what is old may go. */
  function take(changes: Partial<NewMessage>): Accepted {
    const accepted = store.work.accept({ message: message(changes), lease: 'no' });
    if (accepted.outcome === 'new') store.work.markDelivered([accepted.deliveryId]);
    return accepted;
  }
  const accept = (changes: Partial<NewMessage>): Accepted => store.transaction(() => take(changes));

  it('is what was committed and is kept, over transactions that fail, openings and removals', () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 14 }), (deeds) => {
        store.close();
        fs.rmSync(folder(), { recursive: true });
        store = open();
        let kept: Kept[] = [];
        for (const each of deeds) {
          now += DAY;
          if (each.do === 'reopen') reopen();
          else if (each.do === 'tidy') {
            const before = now - each.days * DAY;
            while (store.transaction(() => store.work.tidy({ keys: each.days * DAY, bodies: 0 })));
            kept = kept.filter(({ at }) => at >= before);
          } else kept = act(each, kept);
        }
      }),
      { numRuns: runsOf(60) },
    );
  });

  function act({ do: what, batch }: { do: string; batch: Sent[] }, kept: readonly Kept[]): Kept[] {
    const after = [...kept];
    const work = (): void => {
      for (const one of batch) check(one, take(one), after);
      if (what === 'fail') throw new Error('refused');
    };
    if (what !== 'fail') {
      store.transaction(work);
      return after;
    }
    assert.throws(() => store.transaction(work), /refused/);
    return [...kept];
  }

  function check(one: Sent, accepted: Accepted, kept: Kept[]): void {
    const copies = kept.filter(({ station, id }) => station === one.station && id === one.id);
    const same = copies.find(({ fingerprint }) => fingerprint === one.fingerprint);
    const { outcome, deliveryId, first, ended } = accepted;
    if (same !== undefined) return assert.deepEqual([outcome, deliveryId], ['repeat', same.deliveryId]);
    assert.equal(outcome, copies.length > 0 ? 'conflict' : 'new');
    const isEvent = outcome === 'new';
    const ofAlarm = kept.filter(
      (other) => other.isEvent && other.station === one.station && other.alarm === one.alarm,
    );
    const last = ofAlarm.at(-1);
    if (isEvent)
      assert.deepEqual(
        [first, ended],
        [last === undefined, last !== undefined && (last.ended || last.isEnd)],
      );
    kept.push({ ...one, deliveryId, isEvent, ended: ended === true, at: now });
  }

  it('is confirmed in the file: ids and alarms that share a key are told apart', () => {
    accept({ id: 'a', alarm: 'fire' });
    store.close();
    const database = new DatabaseSync(file());
    database
      .prepare('UPDATE message SET id_key = ?, alarm_key = ?')
      .run(messageKey(template.station, true, 'b'), alarmKey(template.station, 'water'));
    database.close();
    store = open();
    const { outcome, first } = accept({ id: 'b', alarm: 'water' });
    assert.deepEqual([outcome, first], ['new', true]);
    assert.equal(accept({ id: 'b', alarm: 'water' }).outcome, 'repeat');
  });

  it('has keys that files of other versions can be read by', () => {
    assert.deepEqual(
      [messageKey('north', true, 'id'), messageKey('north', false, 'id'), alarmKey('north', 'id')],
      [183_505_345_136_925, 47_500_277_507_325, 61_563_765_084_966],
    );
  });

  it('knows an id again that UTF-8 cannot hold', () => {
    const id = 'half a pair: \ud83d';
    assert.equal(messageKey('north', true, id), messageKey('north', true, 'half a pair: \ufffd'));
    accept({ id });
    reopen();
    assert.equal(accept({ id }).outcome, 'repeat');
  });

  it('never gives a sequence away twice, also where the newest message is kept no more', () => {
    const { sequence } = accept({ id: 'a' });
    now += 40 * DAY;
    while (store.transaction(() => store.work.tidy({ keys: DAY, bodies: DAY })));
    assert.deepEqual(store.work.list({ state: 'all', limit: 9 }), []);
    reopen();
    assert.ok(accept({ id: 'b' }).sequence > sequence);
  });

  it('is let go of in memory, too, with what is kept no more', () => {
    const database = openDatabase(path.join(folder(), 'other.sqlite'));
    const statements = prepareStatements(database);
    const known = new KnownMessages(statements);
    const bodies = new Bodies(statements, () => assert.fail());
    const history = new HistoryTable(statements);
    const messages = new Messages(statements, known, bodies, history, () => now, 0);
    for (const id of ['a', 'b', 'c']) {
      now += DAY;
      const { deliveryId } = messages.accept({ message: message({ id }), lease: 'no' });
      messages.markDelivered([deliveryId]);
    }
    assert.deepEqual(known.size, { messages: 3, alarms: 1 });
    const sweep = retentionSweep(statements, known);
    sweep(now, now);
    assert.deepEqual(known.size, { messages: 1, alarms: 1 });
    sweep(now + 1, now + 1);
    assert.deepEqual(known.size, { messages: 0, alarms: 0 });
    database.close();
  });

  it('finds an event by its delivery id, which holds the sequence', () => {
    const { deliveryId, sequence } = accept({ id: 'a' });
    assert.equal(sequenceIn(deliveryId), sequence);
    assert.equal(store.work.stateOf(deliveryId), 'delivered');
    const forged = makeDeliveryId(sequence, Date.now());
    assert.match(forged, /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    for (const unknown of [forged, makeDeliveryId(2 ** 47, 0), deliveryId.toUpperCase(), '', 'x'])
      assert.equal(store.work.stateOf(unknown), undefined);
  });
});
