import assert from 'node:assert/strict';
import net from 'node:net';
import { CancelToken } from '../../lib/concurrency/signals';
import { KeyedSemaphore } from '../../lib/concurrency/semaphore';
import { SenderQueues } from '../../lib/webhook/pipelined-requests';
import { Senders, type RequestSource } from '../../lib/webhook/request';
import { endOfTurn } from '../support/time/event-loop';

describe('what waits for a place', () => {
  let entered: string[];
  let turnedAway: string[];
  let leave: (() => void)[];
  let semaphore: KeyedSemaphore;
  beforeEach(() => {
    [entered, turnedAway, leave] = [[], [], []];
    semaphore = new KeyedSemaphore(1, 1024);
  });

  /** Names whose first letter is their line. */
  function apply(...names: string[]): void {
    for (const name of names) {
      const applicant = { bytes: 0, queue: name.slice(0, 1), ending: () => new CancelToken() };
      void Promise.resolve(semaphore.acquire('path', applicant)).then((release) => {
        (release === undefined ? turnedAway : entered).push(name);
        if (release !== undefined) leave.push(release);
      });
    }
  }

  for (const [title, names, inside, away] of [
    ['goes in by turns of its lines, and in a line as it came', 'a1 a2 a3 a4 b1', 'a1 a2 b1 a3 a4', ''],
    ['is turned away at the end of the longest line', 'a1 a2 a3 a4 b1 b2 c1', 'a1 a2 b1 c1 a3', 'a4 b2'],
    ['is turned away last where no line is longer', 'a1 b1 c1 d1 e1 f1', 'a1 b1 c1 d1 e1', 'f1'],
  ] as const)
    it(title, async () => {
      apply(...names.split(' '));
      await endOfTurn();
      for (let done = 0; done < entered.length; done += 1) {
        leave[done]?.();
        await endOfTurn();
      }
      assert.deepEqual([entered.join(' '), turnedAway.join(' ')], [inside, away]);
    });
});

describe('the line in which a request waits', () => {
  let senders: Senders;
  let lines: SenderQueues;
  let now: number;
  beforeEach(() => {
    senders = new Senders();
    now = 0;
    lines = new SenderQueues(senders, () => now);
  });

  function from(address: string, remotePort: number): RequestSource {
    const socket = new net.Socket();
    Object.defineProperties(socket, { remoteAddress: { value: address }, remotePort: { value: remotePort } });
    return { socket, headers: {} };
  }

  const isOneLine = (address: string): boolean => lines.of(from(address, 1)) === lines.of(from(address, 2));

  it('is that of its address, and behind an address that many share that of its connection', () => {
    assert.ok(isOneLine('192.0.2.1'));
    senders.setProxies(['192.0.2.1']);
    assert.deepEqual([isOneLine('192.0.2.1'), isOneLine('127.0.0.1')], [false, false]);
  });

  it('is that of its connection for a day after its address has proven something', () => {
    lines.proven(from('192.0.2.1', 1));
    now = 24 * 60 * 60 * 1000 - 1;
    assert.deepEqual([isOneLine('192.0.2.1'), isOneLine('192.0.2.2')], [false, true]);
    now += 1;
    assert.ok(isOneLine('192.0.2.1'));
  });
});
