import assert from 'node:assert/strict';
import { AgingMap } from '../../lib/inbox/aging-map';
import type { Delivery, ProvenMessage } from '../../lib/inbox/inbox';
import { MemoryInbox } from '../../lib/inbox/memory-inbox';
import { messageOf } from '../../lib/webhook/message';
import { uncertainProblem } from '../../lib/webhook/problem';

describe('the memory of the process', () => {
  function message(messageId: string, changes: Partial<ProvenMessage> = {}): ProvenMessage {
    return {
      kind: 'event',
      endpointId: 'e',
      stationKey: 'north',
      stationName: 'North',
      sandbox: false,
      receivedTime: '2026-03-04T05:06:07.000Z',
      fingerprint: 'f',
      body: Buffer.from('{}'),
      proof: 'hmac',
      secret: 'current',
      envelope: {
        messageId,
        payloadType: 'BlueEvent',
        version: '1.0.0',
        transmitTime: null,
        logCorrelationId: null,
      },
      event: { alarmId: messageId },
      warnings: [],
      ...changes,
    };
  }
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

  it('keeps events for a consumer that comes afterwards', async () => {
    const inbox = new MemoryInbox();
    await inbox.accept(message('a'));
    await turn();
    const seen: Delivery[] = [];
    inbox.consume('e', (delivery) => seen.push(delivery));
    await turn();
    assert.deepEqual(
      seen.map(({ message, attempt }) => [message.envelope.messageId, attempt]),
      [['a', 1]],
    );
  });

  it('gives events to the consumer of now', async () => {
    const inbox = new MemoryInbox();
    const seen: string[] = [];
    const first = inbox.consume('e', () => seen.push('first'));
    inbox.consume('e', () => seen.push('second'));
    first();
    await inbox.accept(message('a'));
    await turn();
    assert.deepEqual(seen, ['second']);
  });

  it('delivers an event again whose consumer goes before it can have handed it on', async () => {
    const inbox = new MemoryInbox();
    const seen: [string, string, number][] = [];
    const unsubscribe = inbox.consume('e', ({ message, attempt }) => {
      seen.push(['first', message.envelope.messageId, attempt]);
      unsubscribe();
    });
    await inbox.accept(message('a'));
    await inbox.accept(message('b'));
    await turn();
    inbox.consume('e', ({ message, attempt }) => seen.push(['second', message.envelope.messageId, attempt]));
    await turn();
    assert.deepEqual(seen, [
      ['first', 'a', 1],
      ['second', 'a', 2],
      ['second', 'b', 1],
    ]);
  });

  it('C-76 delivers again what a flow may have acted on, and it counts as uncertain', async () => {
    const inbox = new MemoryInbox();
    const seen: Delivery[] = [];
    const unsubscribe = inbox.consume('e', (delivery) => {
      seen.push(delivery);
      unsubscribe();
    });
    await inbox.accept(message('a'));
    await turn();
    inbox.consume('e', (delivery) => seen.push(delivery));
    await turn();
    const [first, second] = seen;
    assert.ok(first && second);
    assert.equal(first.deliveryId, second.deliveryId);
    assert.equal(uncertainProblem(first), undefined);
    const { kind, reason, messageId, deliveryId, station, count } = uncertainProblem(second) ?? {};
    assert.deepEqual(
      [kind, reason, messageId, deliveryId, station, count],
      ['uncertain', 'restart', 'a', first.deliveryId, first.message.stationKey, 1],
    );
  });

  it('keeps dead letters without the event as objects, and keys of a bounded length', async () => {
    const inbox = new MemoryInbox();
    const { event, ...record } = message('x'.repeat(512));
    const letter = {
      ...record,
      kind: 'dead-letter',
      reason: 'too-deep',
      messageId: 'x'.repeat(512),
    } as const;
    assert.equal((await inbox.acceptDeadLetter({ ...letter, event })).outcome, 'new');
    assert.equal((await inbox.acceptDeadLetter({ ...letter, event })).outcome, 'repeat');
    const other = { ...letter, messageId: `${'x'.repeat(511)}y` };
    assert.equal((await inbox.acceptDeadLetter(other)).outcome, 'new');
    assert.equal(inbox.deadLetters()[0]?.event, undefined);
  });

  it('takes back the last event that waited, too', async () => {
    const inbox = new MemoryInbox();
    const seen: number[] = [];
    const unsubscribe = inbox.consume('e', () => unsubscribe());
    await inbox.accept(message('a'));
    await turn();
    inbox.consume('e', ({ attempt }) => seen.push(attempt));
    await turn();
    assert.deepEqual(seen, [2]);
  });

  it('delivers an event once that had the time to leave its consumer', async () => {
    const inbox = new MemoryInbox();
    const seen: string[] = [];
    const unsubscribe = inbox.consume('e', () => seen.push('first'));
    await inbox.accept(message('a'));
    for (let turns = 0; turns < 4; turns++) await turn();
    unsubscribe();
    inbox.consume('e', () => seen.push('second'));
    for (let turns = 0; turns < 4; turns++) await turn();
    assert.deepEqual(seen, ['first']);
  });

  it('keeps endpoints apart', async () => {
    const inbox = new MemoryInbox();
    const seen: string[] = [];
    inbox.consume('other', () => seen.push('other'));
    await inbox.accept(message('a'));
    await turn();
    assert.deepEqual(seen, []);
  });

  it('goes on after a consumer that threw, and logs which delivery it was without content of the event', async () => {
    const lines: string[] = [];
    const inbox = new MemoryInbox({ log: (line) => lines.push(line) });
    const seen: Delivery[] = [];
    inbox.consume('e', (delivery) => {
      seen.push(delivery);
      throw new Error(`broken flow for ${delivery.message.event.alarmId}`);
    });
    await inbox.accept(message('alarm-a'));
    await inbox.accept(message('alarm-b'));
    await turn();
    assert.deepEqual(
      seen.map((delivery) => delivery.message.envelope.messageId),
      ['alarm-a', 'alarm-b'],
    );
    assert.equal(lines.length, 2);
    for (const [index, { deliveryId }] of seen.entries()) assert.ok(lines[index]?.includes(deliveryId));
    assert.doesNotMatch(lines.join('\n'), /alarm-|broken flow/);
  });

  it('delivers an event once whose consumer threw', async () => {
    const inbox = new MemoryInbox();
    let attempts = 0;
    const unsubscribe = inbox.consume('e', () => {
      attempts++;
      throw new Error('broken flow');
    });
    await inbox.accept(message('a'));
    for (let turns = 0; turns < 4; turns++) await turn();
    unsubscribe();
    inbox.consume('e', () => attempts++);
    for (let turns = 0; turns < 4; turns++) await turn();
    assert.equal(attempts, 1);
  });

  it('accepts nothing beyond what may wait, and nothing once it is closed', async () => {
    const inbox = new MemoryInbox({ maxWaiting: 1 });
    await inbox.accept(message('a'));
    await assert.rejects(inbox.accept(message('b')), { code: 'STORE_FAILED' });
    assert.equal((await inbox.accept(message('a'))).outcome, 'repeat');
    await inbox.close();
    await assert.rejects(inbox.accept(message('c')), { code: 'STORE_FAILED' });
  });

  it('gives a repeat the id of its first copy', async () => {
    const inbox = new MemoryInbox();
    const first = await inbox.accept(message('a'));
    const repeat = await inbox.accept(message('a'));
    const conflict = await inbox.accept(message('a', { fingerprint: 'g' }));
    assert.equal(repeat.deliveryId, first.deliveryId);
    assert.deepEqual([first.outcome, repeat.outcome, conflict.outcome], ['new', 'repeat', 'conflict']);
    assert.notEqual(conflict.deliveryId, first.deliveryId);
  });

  it('forgets by age of a clock that never jumps, and by number, the oldest first', () => {
    let now = 0;
    const map = new AgingMap<number>(2, 100, () => now);
    map.set('a', 1);
    map.set('b', 2);
    map.set('c', 3);
    assert.deepEqual([map.get('a'), map.get('b'), map.get('c')], [undefined, 2, 3]);
    now = 101;
    assert.equal(map.get('c'), undefined);
    assert.equal(map.size, 0);
  });

  it('hands every message on as a copy of its own', async () => {
    const inbox = new MemoryInbox();
    const seen: Delivery[] = [];
    inbox.consume('e', (delivery) => seen.push(delivery));
    await inbox.accept(message('a'));
    await turn();
    const [delivery] = seen;
    assert.ok(delivery);
    const { msg } = messageOf(delivery, new Date());
    msg.payload.alarmId = 'changed';
    assert.deepEqual([msg.event.alarmId, delivery.message.event.alarmId], ['a', 'a']);
  });
});
