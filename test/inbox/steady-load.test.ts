import assert from 'node:assert/strict';
import path from 'node:path';
import type { DurableInbox } from '../../lib/inbox/durable-inbox';
import { StoreThread } from '../../lib/inbox/sqlite/store-thread';
import type { LocalCall, StoreCalls } from '../../lib/inbox/store/port';
import { folderOfEach, inboxIn } from '../support/inbox/folders';
import { allSettled, proven, Taker } from './samples';

const SENDERS = 32;
const EVENTS = 3000;

/** Counts the events that were read from the file for the flow. */
class CountingThread extends StoreThread {
  read = 0;

  override async call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
    hurry = true,
  ): Promise<StoreCalls[Name]['give']> {
    const given = await super.call(name, take, hurry);
    if (name === 'lease' && Array.isArray(given)) this.read += given.length;
    return given;
  }
}

describe('an inbox under a steady load', () => {
  let thread: CountingThread;
  let inbox: DurableInbox;
  const folder = folderOfEach(() => inbox.close());
  beforeEach(() => {
    const file = path.join(folder(), 'inbox.sqlite');
    inbox = inboxIn(folder(), { open: (news) => (thread = new CountingThread(file, news)) });
  });

  /** From many senders, each of which waits for its answer. */
  async function load(count: number): Promise<void> {
    let left = count;
    const send = async (): Promise<void> => {
      for (; left > 0; left -= 1) await inbox.accept(proven());
    };
    await Promise.all(Array.from({ length: SENDERS }, send));
  }

  for (const handledWhen of ['sent', 'settled'] as const) {
    it(`gives events to the flow without reading them again, also after some had to wait; handled when ${handledWhen}`, async () => {
      const taker = new Taker(inbox, {
        handledWhen,
        maxInFlight: 500,
        deliver: ({ deliveryId }) => {
          if (handledWhen === 'settled') void inbox.settle(deliveryId, { action: 'done' });
          return true;
        },
      });
      taker.consumption.pause();
      await load(SENDERS);
      taker.consumption.resume();
      await load(EVENTS);
      await allSettled(inbox);
      assert.ok(thread.read < EVENTS / 4, `${thread.read} of ${EVENTS} were read again`);
    });
  }
});
