import assert from 'node:assert/strict';
import fs from 'node:fs';
import { fail, HookedInbox, temporaryFolder, type Hook } from '../support/inbox/hooked-inbox';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

const pass: Hook = (_name, act) => act();

describe('what was spilled, on its way into the inbox', () => {
  const inboxes = new Set<HookedInbox>();
  afterEach(async () => {
    for (const inbox of inboxes) {
      inbox.hook = pass;
      await inbox.close();
      fs.rmSync(inbox.folder, { recursive: true });
    }
    inboxes.clear();
  });

  /** @param folder that of an inbox which was killed */
  function open(hook?: Hook, folder = temporaryFolder()): HookedInbox {
    const inbox = new HookedInbox(folder, hook);
    inboxes.add(inbox);
    return inbox;
  }

  const isInside = async (inbox: HookedInbox, count: number): Promise<boolean> =>
    inbox.state().durable === true &&
    (await inbox.list({ state: 'all', limit: 1000 })).messages.length === count;

  it('enters all the same where the inbox would not have it the first time', async () => {
    const inbox = open(fail);
    await inbox.accept(proven());
    let asked = 0;
    inbox.hook = (name, act) => (name === 'bring' && (asked += 1) === 1 ? fail() : act());
    await eventually(() => isInside(inbox, 1), 'the event in the inbox');
  });

  it('stays where it is while the inbox, which works, would not have it, and goes to the flow over a restart', async () => {
    const inbox = open(fail);
    for (let count = 0; count < 3; count += 1) await inbox.accept(proven());
    inbox.hook = (name, act) => (name === 'bring' ? fail() : act());
    await eventually(() => inbox.state().durable === true, 'an inbox that works');
    const next = open(undefined, inbox.image());
    const taker = new Taker(next);
    await eventually(() => taker.ids.length === 3, 'all events');
    await eventually(() => isInside(next, 3), 'all in the inbox');
  });

  it('does not come again after a kill, once the inbox was told its end', async () => {
    const inbox = open(fail);
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const { deliveryId } = await inbox.accept(proven());
    for (let count = 0; count < 100; count += 1) await inbox.accept(proven({}, { endpointId: 'another' }));
    await eventually(() => taker.ids.length === 1, 'the event');
    let brought = 0;
    let isHeld = true;
    // The second hundred does not enter.
    inbox.hook = (name, act) => (name === 'bring' && (brought += 1) > 100 && isHeld ? fail() : act());
    await eventually(() => brought > 100, 'the first hundred');
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    const next = open(undefined, inbox.image());
    isHeld = false;
    const again = new Taker(next, { handledWhen: 'settled' });
    await eventually(() => isInside(next, 101), 'all in the inbox');
    assert.deepEqual(again.ids, []);
  });

  it('ends where it is settled beside the inbox after a kill, though it had entered before', async () => {
    const inbox = open(fail);
    const { deliveryId } = await inbox.accept(proven());
    let image = '';
    inbox.hook = (name, act) => {
      const given = act();
      if (name === 'bring') image = inbox.image();
      return given;
    };
    await eventually(() => image !== '', 'the kill, right after it has entered');
    const next = open(fail, image);
    const taker = new Taker(next, { handledWhen: 'settled' });
    await eventually(() => taker.ids.length === 1, 'the event');
    assert.equal(await next.settle(deliveryId, { action: 'done' }), true);
    next.hook = pass;
    await eventually(
      async () => (await next.list({ state: 'settled', limit: 9 })).messages.length === 1,
      'its end',
    );
    await eventually(() => next.state().durable === true, 'an inbox that works');
    assert.equal(taker.ids.length, 1);
  });

  it('goes to the flow, and is settled, while the inbox does not answer', async () => {
    const inbox = open(fail);
    const { deliveryId } = await inbox.accept(proven());
    let asked = 0;
    inbox.hook = (name, act) => {
      if (name !== 'bring') return act();
      asked += 1;
      return new Promise(() => undefined);
    };
    await eventually(() => asked > 0, 'the question');
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    await eventually(() => taker.ids.length === 1, 'the event');
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
  });

  it('goes to the flow when it could not enter after all', async () => {
    const inbox = open(fail);
    await inbox.accept(proven());
    let release: (() => void) | undefined;
    inbox.hook = (name, act) => {
      if (name !== 'bring') return act();
      return new Promise((_resolve, reject) => {
        release = () => {
          inbox.hook = fail;
          reject(new Error('gone'));
        };
      });
    };
    await eventually(() => release !== undefined, 'the question');
    const taker = new Taker(inbox);
    release?.();
    await eventually(() => taker.ids.length === 1, 'the event');
  });
});
