import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { salvage } from '../../lib/inbox/sqlite/salvage';
import { Store } from '../../lib/inbox/sqlite/store';
import type { SlotRowWrite } from '../../lib/inbox/store/port';
import { damagePage } from '../support/inbox/broken-files';

const OWNER = 'alarms:yard';
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe('the slots of a file', () => {
  let file: string;
  let store: Store | undefined;
  let [wall, steady] = [0, 0];
  beforeEach(() => {
    file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-slots-')), 'inbox.sqlite');
    [wall, steady] = [Date.UTC(2026, 2, 4), 0];
  });
  afterEach(() => {
    close();
    fs.rmSync(path.dirname(file), { recursive: true });
  });

  const open = (): Store =>
    (store ??= new Store({ file, resumed: false, monotonic: () => steady, wall: () => wall }));
  function close(): void {
    store?.close();
    store = undefined;
  }
  const passes = (ms: number): void => {
    wall += ms;
    steady += ms;
  };
  const put = (...writes: SlotRowWrite[]) =>
    open().transaction(() => open().work.putSlots({ owner: OWNER, writes }));
  const slots = (since = 0) => open().transaction(() => open().work.slots({ owner: OWNER, since }));
  const left = (): number | undefined => slots().slots[0]?.left;
  const tidy = (): void => {
    while (open().transaction(() => open().work.tidy({ keys: DAY, bodies: DAY })));
  };

  describe('end by a clock', () => {
    beforeEach(() => {
      put({ name: 'a', value: '1', lasts: 10 * MINUTE });
    });

    it('that runs while the file is open', () => {
      passes(4 * MINUTE);
      assert.equal(left(), 6 * MINUTE);
    });

    it('that no wall clock moves while the file is open', () => {
      wall += DAY;
      assert.equal(left(), 10 * MINUTE);
      wall -= 2 * DAY;
      assert.equal(left(), 10 * MINUTE);
    });

    it('that goes on while the file is closed', () => {
      passes(MINUTE);
      close();
      wall += 5 * MINUTE;
      assert.equal(left(), 4 * MINUTE);
      close();
      wall += 5 * MINUTE;
      assert.equal(left(), -MINUTE);
    });

    it('that goes on over a kill, from the last write on', () => {
      passes(MINUTE);
      const copy = fs.readFileSync(file);
      const log = fs.readFileSync(`${file}-wal`);
      close();
      fs.writeFileSync(file, copy);
      fs.writeFileSync(`${file}-wal`, log);
      wall += 2 * MINUTE;
      assert.equal(left(), 7 * MINUTE);
    });

    it('that stands still while the file is closed, where the wall clock was set back meanwhile', () => {
      passes(MINUTE);
      tidy();
      close();
      wall -= DAY;
      assert.equal(left(), 9 * MINUTE);
      passes(MINUTE);
      assert.equal(left(), 8 * MINUTE);
    });

    it('that is taken from the last write where it cannot be read', () => {
      put({ name: 'b', value: '2' });
      close();
      const database = new DatabaseSync(file);
      database.exec(`UPDATE meta SET value = 'x' WHERE name = 'slot-clock'`);
      database.close();
      assert.equal(left(), 10 * MINUTE);
    });
  });

  it('that were removed are forgotten after a day, and then whoever asks from before that is given all', () => {
    put({ name: 'a', value: '1' }, { name: 'b', value: '2' });
    const { version } = slots();
    put({ name: 'a' });
    passes(DAY - MINUTE);
    tidy();
    assert.deepEqual(
      slots(version).slots.map(({ name }) => name),
      ['a'],
    );
    passes(2 * MINUTE);
    tidy();
    const { isAll, slots: rows } = slots(version);
    assert.deepEqual([isAll, rows.map(({ name }) => name)], [true, ['b']]);
    assert.equal(slots(version + 1).isAll, false);
  });

  it('that were removed are forgotten but for the latest ten thousand', () => {
    const names = Array.from({ length: 10_002 }, (_, number) => `${number}`);
    put(...names.map((name) => ({ name, value: '1' })));
    const { version } = slots();
    put(...names.map((name) => ({ name })));
    tidy();
    assert.equal(slots(version).isAll, true);
    assert.equal(slots(version + 2).slots.length, 10_000);
  });

  it('are salvaged of a damaged file, with the time that is left', () => {
    const writes = Array.from({ length: 200 }, (_, number) => ({
      name: `${number}`,
      value: '{"a":1}',
      lasts: DAY,
    }));
    const written = put(...writes, { name: '7' });
    const { version } = slots();
    passes(MINUTE);
    close();
    damagePage(file, 'slot');
    salvage(file, new Date());
    const { isAll, slots: rows } = slots(version);
    assert.equal(isAll, true);
    assert.ok(rows.length > 150 && rows.length < 199, `${rows.length} left`);
    for (const { name, version: own, ...row } of rows)
      assert.deepEqual(
        [own, row],
        [written[Number(name)]?.slot?.version, { value: '{"a":1}', left: DAY - MINUTE }],
      );
    assert.ok(!rows.some(({ name }) => name === '7'));
    const [next] = put({ name: 'next', value: '1' });
    assert.ok(Number(next?.slot?.version) > version);
  });

  it('are salvaged where another table is damaged', () => {
    put({ name: 'a', value: '1' });
    const { slots: before } = slots();
    close();
    damagePage(file, 'message');
    salvage(file, new Date());
    assert.deepEqual(slots().slots, before);
  });
});
