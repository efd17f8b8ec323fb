import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { Store } from '../../../lib/inbox/sqlite/store';
import type { SlotRow, SlotRows } from '../../../lib/inbox/store/slot-row';
import type { StoreCalls } from '../../../lib/inbox/store/protocol';
import { SharedServer } from '../../support/postgres/shared-server';
import { newSchema, StoreSession } from '../../support/postgres/stores';
import { runsOf } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';

type Call = 'slots' | 'putSlots' | 'dropSlots' | 'slotOwners' | 'slotVersions';
/** Asks one store. */
type Ask = <Name extends Call>(
  name: Name,
  take: StoreCalls[Name]['take'],
) => Promise<StoreCalls[Name]['give']>;

const OWNERS = ['alarms:a', 'alarms:b', 'watch:a'];
const owner = fc.constantFrom(...OWNERS);
/** What is expected: whatever, nothing, what is there, or something else. */
const expected = fc.constantFrom('any', 'any', 'none', 'there', 'there', 'other');
const write = fc.record({
  name: fc.constantFrom('a', 'b', 'c', "'\u0000"),
  value: fc.constantFrom(undefined, undefined, null, 1, 'x\u0000', { a: [true] }),
  expected,
});
const deed = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      owner,
      writes: fc.array(write, { minLength: 1, maxLength: 4 }),
      by: fc.nat(1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), owner, by: fc.nat(1) }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('read' as const), owner, back: fc.nat(12), by: fc.nat(1) }),
  },
);
type Deed = typeof deed extends fc.Arbitrary<infer Value> ? Value : never;

/** What slots are, in a few lines: a version for each change, and what is gone is told to who asks from before that. */
class Model {
  readonly owners = new Map<string, { version: number; slots: Map<string, SlotRow> }>();

  of(name: string): { version: number; slots: Map<string, SlotRow> } {
    const found = this.owners.get(name) ?? { version: 0, slots: new Map() };
    this.owners.set(name, found);
    return found;
  }

  /** @returns whether it was written */
  put(
    name: string,
    slot: string,
    { value, expected: wanted }: { value?: string; expected?: number },
  ): boolean {
    const own = this.of(name);
    const there = own.slots.get(slot);
    const version = there?.value === undefined ? 0 : there.version;
    if (wanted !== undefined && wanted !== version) return false;
    if (value === undefined && version === 0) return true;
    own.version += 1;
    own.slots.set(slot, { name: slot, version: own.version, ...(value !== undefined && { value }) });
    return true;
  }

  drop(name: string): void {
    for (const { name: slot } of this.live(name)) this.put(name, slot, {});
  }

  live(name: string): SlotRow[] {
    return this.changed(name, 0).filter(({ value }) => value !== undefined);
  }

  changed(name: string, since: number): SlotRow[] {
    const { slots } = this.of(name);
    return [...slots.values()]
      .filter(({ version }) => version > since)
      .toSorted((one, two) => one.version - two.version);
  }

  read(name: string, since: number): SlotRows {
    const { version } = this.of(name);
    const isAll = since === 0 || since > version;
    return { version, isAll, slots: isAll ? this.live(name) : this.changed(name, since) };
  }
}

/** Does to a store what is done to the model, and compares. */
async function act(model: Model, ask: Ask, one: Deed): Promise<void> {
  if (one.do === 'drop') {
    await ask('dropSlots', { owner: one.owner });
    return model.drop(one.owner);
  }
  if (one.do === 'read') {
    const since = Math.max(0, model.of(one.owner).version + 2 - one.back);
    assert.deepEqual(await ask('slots', { owner: one.owner, since }), model.read(one.owner, since));
    return;
  }
  const writes = one.writes.map(({ name, value, expected: wanted }) => ({
    name,
    ...(value !== undefined && { value: JSON.stringify(value) }),
    ...expectedOf(
      wanted,
      model.live(one.owner).find((slot) => slot.name === name),
    ),
  }));
  const outcomes = await ask('putSlots', { owner: one.owner, writes });
  writes.forEach(({ name, ...how }, index) => {
    const written = model.put(one.owner, name, how);
    const there = model.live(one.owner).find((slot) => slot.name === name);
    const { written: wasWritten, slot } = outcomes[index] ?? assert.fail();
    assert.equal(wasWritten, written);
    assert.equal(slot?.version, there?.version);
    // What was written is not sent back.
    if (!written) assert.equal(slot?.value, there?.value);
  });
}

function expectedOf(wanted: string, there: SlotRow | undefined): { expected?: number } {
  if (wanted === 'any') return {};
  if (wanted === 'none') return { expected: 0 };
  return { expected: (there?.version ?? 0) + (wanted === 'there' ? 0 : 1) };
}

async function compareAll(model: Model, ask: Ask): Promise<void> {
  for (const name of OWNERS)
    assert.deepEqual(await ask('slots', { owner: name, since: 0 }), model.read(name, 0));
  const owners = await ask('slotOwners', 'alarms:');
  assert.deepEqual(
    owners,
    OWNERS.filter((name) => name.startsWith('alarms:') && model.live(name).length > 0),
  );
  assert.deepEqual(
    await ask('slotVersions', OWNERS),
    Object.fromEntries(OWNERS.map((name) => [name, model.of(name).version])),
  );
}

const deeds = fc.array(deed, { minLength: 5, maxLength: 60, size: 'max' });

describe('slots, compared with a plain map', () => {
  it('are what it is, in SQLite', async () => {
    const folder = fs.mkdtempSync(
      path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'rvm-slots-'),
    );
    let runs = 0;
    try {
      await fc.assert(
        fc.asyncProperty(deeds, async (all) => {
          runs += 1;
          const store = new Store({ file: path.join(folder, `${runs}.sqlite`), resumed: false });
          const ask: Ask = async (name, take) => store.transaction(() => store.work[name](take));
          const model = new Model();
          for (const one of all) await act(model, ask, one);
          await compareAll(model, ask);
          store.close();
        }),
        { numRuns: runsOf(60) },
      );
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  it('are what it is, in PostgreSQL, whichever of two instances is asked', async function () {
    needs(this, 'postgres', 'initdb');
    const server = await SharedServer.use();
    try {
      await fc.assert(
        fc.asyncProperty(deeds, async (all) => {
          const schema = newSchema();
          const instances = [
            await StoreSession.open(server.url(), { schema }),
            await StoreSession.open(server.url(), { schema }),
          ];
          const asking =
            (by: number): Ask =>
            (name, take) =>
              (instances[by] ?? assert.fail()).call(name, take);
          const model = new Model();
          for (const one of all) await act(model, asking(one.by), one);
          await compareAll(model, asking(0));
          for (const instance of instances) await instance.close();
        }),
        { numRuns: runsOf(25), endOnFailure: true },
      );
    } finally {
      await server.remove();
    }
  });
});
