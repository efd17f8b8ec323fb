import * as fc from 'fast-check';
import { changes, list, mixed } from './any';
import { bye, rtpPacket, senderReport } from './rtp-bytes';
import { ODD_PAYLOAD, RTP_STREAM, type SentStream } from './rtp-stream';

/** What comes of a stream, in the order in which it comes. */
export interface Delivery {
  arrivals: Arrival[];
  /** Places of packets that did not come. Undefined where something came that was never sent. */
  missing: ReadonlySet<number> | undefined;
}

interface Arrival {
  rtcp: boolean;
  bytes: Buffer;
}

function ofRtp(bytes: Buffer): Arrival {
  return { rtcp: false, bytes };
}

/** What becomes of a packet: lost, or how many places later it comes, and comes again. */
interface Fate {
  isLost?: boolean;
  late?: number;
  again?: number;
}

type Oddity = (bytes: Buffer, other: Buffer) => Arrival;

/** How far a packet may be overtaken: less than what a receiver waits for. */
const LATE = fc.nat(3);
const FATE = mixed<Fate>(
  [73, fc.constant({})],
  [10, fc.constant({ isLost: true })],
  [8, fc.record({ again: LATE })],
  [8, fc.record({ late: LATE })],
  [1, fc.record({ again: LATE, late: LATE })],
);

/** Late, twice, and not at all. The first packet comes, and first: nothing says that there was one before it. No sound is overtaken: it is not waited for. */
function disturbed({ kind, packets, precious }: SentStream): fc.Arbitrary<Delivery> {
  return fc
    .tuple(list(FATE, packets.length), fc.boolean(), fc.boolean(), fc.boolean())
    .map(([fates, loses, delays, repeats]) => {
      const missing = new Set<number>();
      const placed = packets.flatMap((bytes, place) => {
        const { isLost = false, late = 0, again } = fates[place] ?? {};
        if (loses && isLost && place > 0 && !precious.has(place)) {
          missing.add(place);
          return [];
        }
        const first = { at: place + (delays && kind === 'video' && place > 0 ? late : 0), bytes };
        return repeats && again !== undefined ? [first, { at: place + again, bytes }] : [first];
      });
      const arrivals = placed.sort((one, other) => one.at - other.at).map(({ bytes }) => ofRtp(bytes));
      return { arrivals, missing };
    });
}

const U32 = fc.integer({ min: 0, max: 0xffffffff });
const REPORT = fc
  .record({ ntpSeconds: U32, ntpFraction: U32, rtpTime: U32, ssrcs: fc.constantFrom(undefined, []) })
  .map(({ ssrcs, ...times }) => Buffer.concat([senderReport(times), bye(ssrcs)]));

/** Another number, time stamp, source or mark. */
const OTHER_HEAD = fc.oneof<fc.Arbitrary<(copy: Buffer) => void>[]>(
  fc.constantFrom(1, 90, 4000, 32_768).map((more) => (copy) => {
    copy.writeUInt16BE((copy.readUInt16BE(2) + more) & 0xffff, 2);
  }),
  fc.constantFrom(1, 2 ** 31, 5_000_000).map((more) => (copy) => {
    copy.writeUInt32BE((copy.readUInt32BE(4) + more) % 2 ** 32, 4);
  }),
  fc.nat(2).map((ssrc) => (copy) => copy.writeUInt32BE(ssrc, 8)),
  fc.constantFrom(0x80, 1, 0x40).map((bits) => (copy) => copy.writeUInt8(copy.readUInt8(1) ^ bits, 1)),
);

const CHANGED = changes(1, 3).map(
  (change): Oddity =>
    (bytes, other) =>
      ofRtp(change(bytes, other)),
);
/** Of a packet, with another one of its stream: changed, or one that was never sent. */
const ODD_ARRIVAL = fc.oneof<fc.Arbitrary<Oddity>[]>(
  CHANGED,
  CHANGED,
  changes(2).map((change) => (bytes, other) => withPayload(bytes, change(bytes.subarray(12), other))),
  ODD_PAYLOAD.map((payload) => (bytes) => withPayload(bytes, payload)),
  OTHER_HEAD.map((change) => (bytes) => {
    const copy = Buffer.from(bytes);
    change(copy);
    return ofRtp(copy);
  }),
  fc.tuple(ODD_PAYLOAD, fc.record({ sequence: fc.nat(0xffff), rtpTime: U32 })).map(
    ([payload, fields]) =>
      () =>
        ofRtp(rtpPacket(payload, fields)),
  ),
  fc.tuple(REPORT, changes(0, 2)).map(([report, change]) => () => ({ rtcp: true, bytes: change(report) })),
);

function withPayload(bytes: Buffer, payload: Buffer): Arrival {
  return ofRtp(Buffer.concat([bytes.subarray(0, 12), payload]));
}

const SOMETIMES_ODD = [2, 10, 50].map((percent) =>
  mixed([100 - percent, fc.constant(undefined)], [percent, fc.tuple(ODD_ARRIVAL, fc.nat(), fc.boolean())]),
);

/** Some of the packets with changes, and others between them. */
function changed({ packets }: SentStream): fc.Arbitrary<Delivery> {
  return fc.oneof(...SOMETIMES_ODD.map((odd) => list(odd, packets.length))).map((all) => ({
    arrivals: packets.flatMap((bytes, place) => {
      const odd = all[place];
      if (odd === undefined) return [ofRtp(bytes)];
      const [change, other, isInstead] = odd;
      const arrival = change(bytes, packets[other % packets.length] ?? bytes);
      return isInstead ? [arrival] : [ofRtp(bytes), arrival];
    }),
    missing: undefined,
  }));
}

/** A stream, and what comes of it: all; or late, twice, and not at all; or changed. */
export const DELIVERED = RTP_STREAM.chain((stream) =>
  mixed(
    [15, fc.constant<Delivery>({ arrivals: stream.packets.map(ofRtp), missing: new Set() })],
    [35, disturbed(stream)],
    [50, changed(stream)],
  ).map((delivery) => ({ stream, delivery })),
);
