import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { Inbox } from '../../../lib/inbox/model';
import type { ChangedSlots, Slot, SlotWrite } from '../../../lib/inbox/slot';
import { InlineInbox } from '../../support/inbox/each-store';
import { PostgresStand } from '../../support/postgres/stores';
import { runsOf } from '../../support/suite/lanes';

const OWNERS = ['alarms:a', 'alarms:b', 'watch:a'];
const owner = fc.constantFrom(...OWNERS);
/** Which of two instances is asked. */
const by = fc.nat(1);
const write = fc.record({
  name: fc.constantFrom('a', 'b', 'c', "'\u0000"),
  value: fc.constantFrom(undefined, undefined, null, 1, 'x\u0000', { a: [true] }),
  /** Whatever, nothing, what is there, or something else. */
  expected: fc.constantFrom('any', 'any', 'none', 'there', 'there', 'other'),
});
const writes = fc.array(write, { minLength: 1, maxLength: 4 });
const deed = fc.oneof(
  { weight: 10, arbitrary: fc.record({ do: fc.constant('put' as const), owner, writes, by }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), owner, by }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('read' as const), owner, back: fc.nat(12), by }) },
);
type Deed = typeof deed extends fc.Arbitrary<infer Value> ? Value : never;
const deeds = fc.array(deed, { minLength: 5, maxLength: 60, size: 'max' });

/** What slots are, in a few lines: a version for each change, and what is gone is told to who asks from before that. */
class Model {
  version = 0;
  readonly #slots = new Map<string, Slot>();

  put({ name, value, expected }: SlotWrite): { written: boolean; slot: Slot | undefined } {
    const slot = this.there(name);
    if (expected !== undefined && expected !== (slot?.version ?? 0)) return { written: false, slot };
    if (value === undefined && slot === undefined) return { written: true, slot };
    this.version += 1;
    this.#slots.set(name, { name, value, version: this.version });
    return { written: true, slot: this.there(name) };
  }

  drop(): void {
    for (const { name } of this.live()) this.put({ name, value: undefined });
  }

  there(name: string): Slot | undefined {
    return this.live().find((slot) => slot.name === name);
  }

  live(): Slot[] {
    return this.#changed(0).filter(({ value }) => value !== undefined);
  }

  read(since: number): ChangedSlots {
    const isAll = since === 0 || since > this.version;
    return { version: this.version, isAll, slots: isAll ? this.live() : this.#changed(since) };
  }

  #changed(since: number): Slot[] {
    const changed = [...this.#slots.values()].filter(({ version }) => version > since);
    return changed.toSorted((one, two) => one.version - two.version);
  }
}

/** Does to an inbox what is done to the model, and compares. */
async function act(model: Model, inbox: Inbox, name: string, one: Deed): Promise<void> {
  if (one.do === 'drop') {
    await inbox.dropSlots(name);
    return model.drop();
  }
  if (one.do === 'read') {
    const since = Math.max(0, model.version + 2 - one.back);
    assert.deepEqual(plain(await inbox.slots(name, since)), plain(model.read(since)));
    return;
  }
  const asked = one.writes.map(({ expected, ...slot }) => ({
    ...slot,
    ...expectedOf(expected, model.there(slot.name)),
  }));
  const outcomes = await inbox.putSlots(name, asked);
  assert.deepEqual(
    plain(outcomes),
    asked.map((each) => plain(model.put(each))),
  );
}

function expectedOf(wanted: string, there: Slot | undefined): { expected?: number } {
  if (wanted === 'any') return {};
  if (wanted === 'none') return { expected: 0 };
  return { expected: (there?.version ?? 0) + (wanted === 'there' ? 0 : 1) };
}

/** What is undefined, and what is absent, is the same. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

async function assertAlike(instances: readonly Inbox[], runs: number): Promise<void> {
  const asked = (index: number): Inbox => instances[index % instances.length] ?? assert.fail();
  let run = 0;
  const property = fc.asyncProperty(deeds, async (all) => {
    run += 1;
    const named = (name: string): string => `${run} ${name}`;
    const models = new Map(OWNERS.map((name) => [name, new Model()]));
    const modelOf = (name: string): Model => models.get(name) ?? assert.fail();
    for (const one of all) await act(modelOf(one.owner), asked(one.by), named(one.owner), one);
    for (const name of OWNERS)
      assert.deepEqual(plain(await asked(0).slots(named(name))), plain(modelOf(name).read(0)));
    assert.deepEqual(
      await asked(0).slotOwners(named('alarms:')),
      OWNERS.filter((name) => name.startsWith('alarms:') && modelOf(name).live().length > 0).map(named),
    );
  });
  await fc.assert(property, { numRuns: runsOf(runs), endOnFailure: true });
}

describe('slots, compared with a plain map', () => {
  it('are what it is, in SQLite', async () => {
    const inbox = new InlineInbox();
    await assertAlike([inbox], 60);
    await inbox.close();
  });

  describe('in PostgreSQL', () => {
    const postgres = PostgresStand.shared();

    it('are what it is, whichever of two instances is asked', async () =>
      assertAlike([await postgres.inbox(), await postgres.inbox()], 25));
  });
});
