import assert from 'node:assert/strict';
import { JitterBuffer, type RtpPacket } from '../../../lib/video/rtp/jitter-buffer';

function packet(sequence: number): RtpPacket {
  return {
    payloadType: 96,
    sequence: sequence & 0xffff,
    rtpTime: 0,
    ssrc: 1,
    marker: false,
    payload: Buffer.alloc(1),
  };
}

/** Numbers as they come out, with a `|` where packets before are missing. */
function ordered(order: JitterBuffer, sequences: readonly number[]): string {
  return sequences.flatMap((sequence) => order.add(packet(sequence)).map(textOf)).join(' ');
}

function textOf({ packet, gap }: { packet: RtpPacket; gap: boolean }): string {
  return `${gap ? '|' : ''}${packet.sequence}`;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

describe('the order of packets', () => {
  it('begins anywhere', () => {
    assert.equal(ordered(new JitterBuffer(), [41_000, 41_001]), '41000 41001');
  });

  it('goes on from 65535 to 0', () => {
    const order = new JitterBuffer();
    assert.equal(ordered(order, range(65_534, 65_538)), '65534 65535 0 1 2');
    assert.deepEqual([order.lost, order.first, order.highest], [0, 65_534, 65_538]);
  });

  it('has each packet once', () => {
    assert.equal(ordered(new JitterBuffer(), [5, 5, 6, 5, 7, 6]), '5 6 7');
  });

  it('waits for one that is late, and gives the others behind it', () => {
    const order = new JitterBuffer();
    assert.equal(ordered(order, [1, 3, 4]), '1');
    assert.equal(ordered(order, [2]), '2 3 4');
    assert.equal(order.lost, 0);
  });

  it('drops one that comes a second time while it waits', () => {
    assert.equal(ordered(new JitterBuffer(), [1, 3, 3, 2]), '1 2 3');
  });

  it('calls one lost once 16 others wait for it, and says so of the next', () => {
    const order = new JitterBuffer();
    assert.equal(ordered(order, [1, ...range(4, 19)]), '1');
    assert.equal(ordered(order, [20]), `|${range(4, 20).join(' ')}`);
    assert.equal(order.lost, 2);
  });

  it('drops one that comes after it was called lost', () => {
    const order = new JitterBuffer();
    ordered(order, [1, ...range(3, 19)]);
    assert.equal(ordered(order, [2]), '');
    assert.equal(ordered(order, [20]), '20');
  });

  it('goes over the end of the numbers with a gap, too', () => {
    const order = new JitterBuffer();
    ordered(order, [65_535]);
    assert.match(ordered(order, range(65_537, 65_560)), /^\|1 2 3 /);
    assert.equal(order.lost, 1);
  });

  it('gives at the end what waits', () => {
    const order = new JitterBuffer();
    ordered(order, [1, 3, 4, 6]);
    assert.equal(order.flush().map(textOf).join(' '), '|3 4 |6');
    assert.equal(order.lost, 2);
  });

  it('begins anew where two packets in a row are numbered otherwise', () => {
    const order = new JitterBuffer();
    assert.equal(ordered(order, [1, 2, 30_000, 30_001, 30_002]), '1 2 |30000 30001 30002');
    assert.equal(order.lost, 0);
    assert.deepEqual([order.first, order.highest, order.received], [30_000, 30_002, 3]);
  });

  it('drops a single packet that is numbered otherwise', () => {
    assert.equal(ordered(new JitterBuffer(), [1, 30_000, 2, 40_000, 3]), '1 2 3');
  });

  it('begins with the number that was announced, so that the very first may be late', () => {
    assert.equal(ordered(new JitterBuffer(7), [8, 7, 9]), '7 8 9');
  });

  it('begins with the first packet where what was announced is far off, or behind it', () => {
    assert.equal(ordered(new JitterBuffer(0), [4000, 4001]), '4000 4001');
    assert.equal(ordered(new JitterBuffer(4001), [4000, 4001]), '4000 4001');
  });

  it('holds no more than 16 packets, whatever the numbers', () => {
    const order = new JitterBuffer();
    let held = 0;
    for (let count = 0; count < 5000; count += 1) {
      held += 1 - order.add(packet((count * 2) & 0xffff)).length;
      assert.ok(held <= 17, `${held} packets`);
    }
  });

  describe('keeps apart from the memory that it came in, which is soon that of others', () => {
    const withByte = (sequence: number): RtpPacket => ({
      ...packet(sequence),
      payload: Buffer.from([sequence & 0xff]),
    });
    const bytes = (order: JitterBuffer, added: RtpPacket): number[] => {
      const all = order.add(added).map(({ packet }) => packet.payload.readUInt8(0));
      added.payload.fill(0);
      return all;
    };

    it('a packet that waits for one before it', () => {
      const order = new JitterBuffer();
      const seen = [1, 3, 4, 2].map((sequence) => bytes(order, withByte(sequence)));
      assert.deepEqual(seen, [[1], [], [], [2, 3, 4]]);
    });

    it('a packet of what may be another numbering', () => {
      const order = new JitterBuffer();
      const seen = [1, 20_001, 20_002].map((sequence) => bytes(order, withByte(sequence)));
      assert.deepEqual(seen, [[1], [], [20_001 & 0xff, 20_002 & 0xff]]);
    });
  });
});
