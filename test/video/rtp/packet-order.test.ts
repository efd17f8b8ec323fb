import assert from 'node:assert/strict';
import { JitterBuffer, type RtpPacket } from '../../../lib/video/rtp/jitter-buffer';
import { range } from '../../support/rtp/sender';

function packet(sequence: number, payload = Buffer.alloc(1)): RtpPacket {
  return { payloadType: 96, sequence: sequence & 0xffff, rtpTime: 0, ssrc: 1, marker: false, payload };
}

/** Numbers as they come out, with a `|` where packets before are missing, and a `/` where the others wait for the end. */
function ordered(order: JitterBuffer, sequences: readonly number[]): string {
  const textOf = (packets: ReturnType<JitterBuffer['flush']>): string[] =>
    packets.map(({ packet, gap }) => `${gap ? '|' : ''}${packet.sequence}`);
  const given = sequences.flatMap((sequence) => textOf(order.add(packet(sequence))));
  const rest = textOf(order.flush());
  return [...given, ...(rest.length > 0 ? ['/', ...rest] : [])].join(' ');
}

const rowOf = (from: number, to: number): string => range(from, to).join(' ');

describe('the order of packets', () => {
  const CASES: [title: string, sent: number[], given: string, lost?: number, announced?: number][] = [
    ['begins anywhere', [41_000, 41_001], '41000 41001'],
    ['goes on from 65535 to 0', range(65_534, 65_538), '65534 65535 0 1 2'],
    ['has each packet once', [5, 5, 6, 5, 7, 6], '5 6 7'],
    ['waits for one that is late', [1, 3, 4], '1 / |3 4', 1],
    ['gives the others behind one that was late', [1, 3, 4, 2], '1 2 3 4'],
    ['drops one that comes a second time while it waits', [1, 3, 3, 2], '1 2 3'],
    ['waits while 16 others do', [1, ...range(4, 19)], `1 / |${rowOf(4, 19)}`, 2],
    ['calls one lost once 17 are behind it, and says so', [1, ...range(4, 20)], `1 |${rowOf(4, 20)}`, 2],
    ['drops one that comes after it was lost', [1, ...range(3, 19), 2, 20], `1 |${rowOf(3, 20)}`, 1],
    ['has gaps at the end of the numbers, too', [-1, ...range(1, 24)], `65535 |${rowOf(1, 24)}`, 1],
    ['gives at the end what waits', [1, 3, 4, 6], '1 / |3 4 |6', 2],
    ['begins anew where two in a row are numbered otherwise', [1, 2, 30_000, 30_001], '1 2 |30000 30001'],
    ['drops a single packet that is numbered otherwise', [1, 30_000, 2, 40_000, 3], '1 2 3'],
    ['begins with the number that was announced, though the very first is late', [8, 7, 9], '7 8 9', 0, 7],
    ['begins with the first packet where what was announced is far off', [4000, 4001], '4000 4001', 0, 0],
    ['begins with the first where what was announced is behind it', [4000, 4001], '4000 4001', 0, 4001],
  ];
  for (const [title, sent, given, lost = 0, announced] of CASES)
    it(title, () => {
      const order = new JitterBuffer(announced);
      assert.equal(ordered(order, sent), given);
      assert.equal(order.lost, lost);
    });

  for (const [sent, counted] of [
    [range(65_534, 65_538), '65534 65538 5'],
    [[1, 2, ...range(30_000, 30_002)], '30000 30002 3'],
  ] as const)
    it(`counts from the first to the highest of one numbering: ${sent.join()}`, () => {
      const order = new JitterBuffer();
      ordered(order, sent);
      assert.equal(`${order.first} ${order.highest} ${order.received}`, counted);
    });

  it('holds no more than 16 packets, whatever the numbers', () => {
    const order = new JitterBuffer();
    let held = 0;
    for (let count = 0; count < 5000; count += 1) {
      held += 1 - order.add(packet(count * 2)).length;
      assert.ok(held <= 17, `${held} packets`);
    }
  });

  for (const [what, sent, given] of [
    ['a packet that waits for one before it', [1, 3, 4, 2], [[1], [], [], [2, 3, 4]]],
    ['a packet of what may be another numbering', [1, 20_001, 20_002], [[1], [], [0x21, 0x22]]],
  ] as const)
    it(`keeps apart from the memory that it came in, which is soon that of others, ${what}`, () => {
      const order = new JitterBuffer();
      const seen = sent.map((sequence) => {
        const added = packet(sequence, Buffer.from([sequence]));
        const all = order.add(added).map(({ packet }) => packet.payload.readUInt8(0));
        added.payload.fill(0);
        return all;
      });
      assert.deepEqual(seen, given);
    });
});
