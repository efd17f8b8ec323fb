import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { DurableInbox } from '../../lib/inbox/durable-inbox';
import { LastSequence } from '../../lib/inbox/sqlite/database';
import { StoreServer } from '../../lib/inbox/sqlite/store-server';
import type { NewMessage } from '../../lib/inbox/store/port';
import { newMessage } from '../../lib/inbox/store/stored-message';
import type { ProvenMessage } from '../../lib/message/record';
import { folderOfEach, inboxIn } from '../support/inbox/folders';
import { eventually, PATIENCE } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('an inbox whose folder was changed while Node-RED was off', () => {
  let inbox: DurableInbox;
  let taker: Taker;
  const base = folderOfEach(() => inbox.close());
  const folder = (name = 'inbox'): string => path.join(base(), name);
  const last = (): string => path.join(base(), 'inbox.last');

  function open(): void {
    const spillFolder = path.join(base(), 'spill');
    inbox = inboxIn(folder(), { spillFolder, lastSequence: last(), timeoutMs: PATIENCE });
    taker = new Taker(inbox);
  }

  async function store(...messages: ProvenMessage[]): Promise<void> {
    for (const message of messages) await inbox.accept(message);
    await eventually(() => messages.every((each) => taker.ids.includes(each.envelope.messageId)), 'all');
  }

  /** Closes it, does something to its folder, and opens it. @returns the sequence of a message that comes then */
  async function reopened(whileClosed: () => void = () => undefined): Promise<number> {
    await inbox.close();
    whileClosed();
    return next();
  }
  const removed = (): void => fs.rmSync(folder(), { recursive: true });
  const damaged = (): void =>
    fs.writeFileSync(path.join(folder(), 'inbox.sqlite'), 'no database at all\n'.repeat(1000));

  async function next(): Promise<number> {
    open();
    const message = proven();
    await store(message);
    return taker.deliveries[taker.ids.indexOf(message.envelope.messageId)]?.sequence ?? 0;
  }

  beforeEach(open);

  it('is told as an older copy, with the time that is concerned, and counts on above what was known', async () => {
    const [first, lost] = [proven(), proven()];
    await store(first);
    await inbox.close();
    fs.cpSync(folder(), folder('copy'), { recursive: true });
    open();
    await store(lost, proven());
    const known = Math.max(...taker.deliveries.map(({ sequence }) => sequence ?? 0));
    const sequence = await reopened(() => {
      removed();
      fs.renameSync(folder('copy'), folder());
    });
    const [incident, ...others] = taker.incidents;
    assert.deepEqual(others, []);
    assert.ok(incident?.kind === 'restored');
    assert.equal(incident.from, Date.parse(first.receivedTime));
    assert.ok((incident.to ?? 0) >= Date.parse(lost.receivedTime));
    assert.deepEqual(inbox.state().incident?.is, incident);
    assert.ok(sequence > known, `${sequence} after ${known}`);
    assert.deepEqual(taker.deliveries.at(-1)?.message.warnings, ['may-repeat']);
    await reopened();
    assert.deepEqual(taker.incidents, []);
  });

  it('is told as gone where the whole folder is, and counts on above what was known', async () => {
    await store(proven(), proven());
    const sequence = await reopened(removed);
    const [incident] = taker.incidents;
    assert.ok(incident?.kind === 'made-anew');
    assert.deepEqual([incident.from, typeof incident.to], [undefined, 'number']);
    assert.ok(sequence > 2, String(sequence));
  });

  it('names no time where it is gone again before a message came', async () => {
    await store(proven());
    for (let turn = 0; turn < 2; turn++) {
      await inbox.close();
      removed();
      open();
      await eventually(() => taker.incidents.length > 0, 'what befell it');
    }
    assert.deepEqual(taker.incidents, [{ kind: 'made-anew' }]);
  });

  it('is told with the name of what is kept where its file was damaged and yields nothing', async () => {
    await store(proven());
    await reopened(damaged);
    const [incident] = taker.incidents;
    assert.ok(incident?.kind === 'salvaged');
    assert.deepEqual([incident.open, incident.ids], [0, 0]);
    assert.ok(fs.existsSync(path.join(folder(), incident.file)));
    const sequence = await reopened(() => {
      // What is remembered is a million further now than what a new file begins with.
      fs.writeFileSync(last(), '{"sequence":9000000,"received":1}');
      damaged();
    });
    assert.ok(sequence > 9_000_000);
    assert.deepEqual(
      taker.incidents.map(({ kind }) => kind),
      ['salvaged'],
    );
    await reopened();
    assert.deepEqual(taker.incidents, []);
  });

  it('is told to each node once, also to one that comes later, and not to a paused one', async () => {
    await store(proven());
    await reopened(removed);
    const other = new Taker(inbox, { endpointId: 'other' }, 'paused');
    assert.deepEqual(other.incidents, []);
    other.consumption.resume();
    other.consumption.pause();
    other.consumption.resume();
    assert.deepEqual([taker.incidents.length, other.incidents.length], [1, 1]);
  });

  it('says nothing of a new one where the former was moved into a database', async () => {
    await store(proven(), proven());
    await inbox.close();
    const file = path.join(folder(), 'inbox.sqlite');
    fs.renameSync(file, `${file}.moved-2026-03-04T05-06-07-089Z`);
    fs.rmSync(path.join(folder(), 'inbox.openings'));
    assert.equal(await next(), 1);
    assert.deepEqual(taker.incidents, []);
    await reopened();
    assert.deepEqual(taker.incidents, []);
  });

  it('remembers nothing that was rolled back', () => {
    const server = new StoreServer(path.join(folder('other'), 'inbox.sqlite'), false, () => undefined, {
      last: last(),
    });
    const accept = (message: NewMessage): void =>
      server.run([{ id: 1, name: 'accept', take: { message, lease: 'no' } }]);
    const message = newMessage(proven());
    accept(message);
    accept({ ...newMessage(proven()), received: Number.NaN });
    server.close();
    assert.equal(new LastSequence(last()).known?.sequence, 1);
  });

  it('says nothing where what is remembered is behind, missing or unreadable, or nothing was changed', async () => {
    await store(proven());
    await inbox.close();
    const before = fs.readFileSync(last());
    open();
    await store(proven(), proven());
    await inbox.close();
    for (const spoil of [
      () => undefined,
      () => fs.writeFileSync(last(), before),
      () => fs.rmSync(last()),
      () => fs.writeFileSync(last(), '{"sequence":'),
      () => fs.writeFileSync(last(), '{"sequence":"9","received":null}'),
    ]) {
      spoil();
      await next();
      assert.deepEqual(taker.incidents, []);
      await inbox.close();
    }
  });
});
