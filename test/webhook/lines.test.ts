import assert from 'node:assert/strict';
import net from 'node:net';
import { CancelToken } from '../../lib/concurrency/signals';
import { ByteSemaphore } from '../../lib/concurrency/semaphore';
import { SenderQueues } from '../../lib/webhook/pipelined-requests';
import { Senders, type RequestSource } from '../../lib/webhook/request';
import { endOfTurn } from '../support/time/event-loop';

describe('what waits for a place', () => {
  let entered: string[];
  let turnedAway: string[];
  let leave: (() => void)[];
  let admission: ByteSemaphore;
  beforeEach(() => {
    [entered, turnedAway, leave] = [[], [], []];
    admission = new ByteSemaphore(1, 1024);
  });

  /** Names whose first letter is their line. */
  function apply(...names: string[]): void {
    for (const name of names) {
      const work = (): Promise<void> => {
        entered.push(name);
        return new Promise((resolve) => leave.push(resolve));
      };
      const applicant = { bytes: 0, queue: name.slice(0, 1), ending: () => new CancelToken() };
      void admission.admit(applicant, work).then((isIn) => isIn || turnedAway.push(name));
    }
  }

  async function letAllIn(): Promise<void> {
    for (let done = 0; done < entered.length; done += 1) {
      leave[done]?.();
      await endOfTurn();
    }
  }

  it('goes in by turns of its lines, and in a line as it came', async () => {
    apply('a1', 'a2', 'a3', 'a4', 'b1');
    await letAllIn();
    assert.deepEqual(entered, ['a1', 'a2', 'b1', 'a3', 'a4']);
  });

  it('is turned away at the end of the longest line, where there is too much', async () => {
    apply('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1');
    await letAllIn();
    assert.deepEqual(turnedAway, ['a4', 'b2']);
    assert.deepEqual(entered, ['a1', 'a2', 'b1', 'c1', 'a3']);
  });

  it('is the last that came, where no line is longer than another', async () => {
    apply('a1', 'b1', 'c1', 'd1', 'e1', 'f1');
    await letAllIn();
    assert.deepEqual(turnedAway, ['f1']);
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

  function isOneLine(address: string): boolean {
    return lines.of(from(address, 1)) === lines.of(from(address, 2));
  }

  it('is that of its address', () => {
    assert.ok(isOneLine('192.0.2.1'));
  });

  it('is that of its connection behind an address that many share', () => {
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
