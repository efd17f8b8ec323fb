import type { Random } from '../random';
import { mutatedOften } from './mutation';
import { bye, rtpPacket, senderReport } from './rtp-bytes';
import { oddPayload, type SentStream } from './rtp-stream';

/** What comes of a stream, in the order in which it comes. */
export interface Delivery {
  arrivals: { rtcp: boolean; bytes: Buffer }[];
  /** Places of packets that did not come. Undefined where something came that was never sent. */
  missing: ReadonlySet<number> | undefined;
}

/** How far a packet may be overtaken: less than what a receiver waits for. */
const REACH = 4;

/** All of it; or late, twice, and not at all; or changed. */
export function delivery(random: Random, stream: SentStream): Delivery {
  const kind = random.fraction();
  if (kind < 0.15) return { arrivals: stream.packets.map(ofRtp), missing: new Set() };
  return kind < 0.5 ? disturbed(random, stream) : { arrivals: changed(random, stream), missing: undefined };
}

function ofRtp(bytes: Buffer): Delivery['arrivals'][number] {
  return { rtcp: false, bytes };
}

/** The first packet comes, and first: nothing says that there was one before it. No sound is overtaken: it is not waited for. */
function disturbed(random: Random, { kind, packets, precious }: SentStream): Delivery {
  const [loss, repetition, lateness] = [0.1, 0.1, 0.1].map((share) => (random.chance(0.5) ? share : 0));
  const missing = new Set<number>();
  const placed = packets.flatMap((bytes, place) => {
    if (place > 0 && !precious.has(place) && random.chance(loss ?? 0)) {
      missing.add(place);
      return [];
    }
    const at = (late: boolean): { at: number; bytes: Buffer } => ({
      at: place + (late ? random.below(REACH) : 0),
      bytes,
    });
    const isLate = kind === 'video' && place > 0 && random.chance(lateness ?? 0);
    return random.chance(repetition ?? 0) ? [at(isLate), at(true)] : [at(isLate)];
  });
  const arrivals = placed.sort((one, other) => one.at - other.at).map(({ bytes }) => ofRtp(bytes));
  return { arrivals, missing };
}

/** Some of the packets with changes, and others between them. */
function changed(random: Random, { packets }: SentStream): Delivery['arrivals'] {
  const share = random.pick([0.02, 0.1, 0.5]);
  return packets.flatMap((bytes) => {
    if (!random.chance(share)) return [ofRtp(bytes)];
    const { rtcp, bytes: other } = oddArrival(random, bytes, random.pick(packets));
    return random.chance(0.5) ? [{ rtcp, bytes: other }] : [ofRtp(bytes), { rtcp, bytes: other }];
  });
}

const CHANGES: readonly ((random: Random, bytes: Buffer, other: Buffer) => Delivery['arrivals'][number])[] = [
  (random, bytes, other) => ofRtp(mutatedOften(random, bytes, 1 + random.below(3), other)),
  (random, bytes, other) => ofRtp(mutatedOften(random, bytes, 1 + random.below(3), other)),
  (random, bytes, other) =>
    ofRtp(Buffer.concat([bytes.subarray(0, 12), mutatedOften(random, bytes.subarray(12), 2, other)])),
  (random, bytes) => ofRtp(Buffer.concat([bytes.subarray(0, 12), oddPayload(random)])),
  (random, bytes) => ofRtp(otherHead(random, bytes)),
  (random) =>
    ofRtp(rtpPacket(oddPayload(random), { sequence: random.below(0x10000), rtpTime: random.below(2 ** 32) })),
  (random) => ({ rtcp: true, bytes: mutatedOften(random, report(random), random.below(3)) }),
];

function oddArrival(random: Random, bytes: Buffer, other: Buffer): Delivery['arrivals'][number] {
  return random.pick(CHANGES)(random, bytes, other);
}

/** With another number, time stamp, source or mark. */
function otherHead(random: Random, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const kind = random.below(4);
  if (kind === 0) copy.writeUInt16BE((copy.readUInt16BE(2) + random.pick([1, 90, 4000, 32_768])) & 0xffff, 2);
  else if (kind === 1)
    copy.writeUInt32BE((copy.readUInt32BE(4) + random.pick([1, 2 ** 31, 5_000_000])) % 2 ** 32, 4);
  else if (kind === 2) copy.writeUInt32BE(random.below(3), 8);
  else copy.writeUInt8(copy.readUInt8(1) ^ random.pick([0x80, 1, 0x40]), 1);
  return copy;
}

function report(random: Random): Buffer {
  const times = {
    ntpSeconds: random.below(2 ** 32),
    ntpFraction: random.below(2 ** 32),
    rtpTime: random.below(2 ** 32),
  };
  return Buffer.concat([senderReport(times), bye(random.chance(0.5) ? undefined : [])]);
}
