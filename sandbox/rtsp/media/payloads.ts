/** What fits into an Ethernet frame beside the headers of RTP, UDP and IP. */
const MAX_PAYLOAD = 1388;

/** How NAL units are put into payloads: each codec has its own header (H.264: 1 byte, H.265: 2). */
interface NalFormat {
  headerBytes: number;
  isParameterSet(nal: Buffer): boolean;
  aggregateHeader(nals: readonly Buffer[]): Buffer;
  /** Header of a fragment; the bits of `ends` say that it is the first or the last. */
  fragmentHeader(nal: Buffer, ends: number): Buffer;
}

const STAP_A = 24;
const FU_A = 28;
/** RFC 6184, sections 5.7.1 and 5.8. */
const H264: NalFormat = {
  headerBytes: 1,
  isParameterSet: (nal) => [7, 8].includes((nal[0] ?? 0) & 0x1f),
  aggregateHeader: (nals) => Buffer.from([Math.max(...nals.map((nal) => (nal[0] ?? 0) & 0x60)) | STAP_A]),
  fragmentHeader: (nal, ends) => Buffer.from([((nal[0] ?? 0) & 0xe0) | FU_A, ends | ((nal[0] ?? 0) & 0x1f)]),
};

const AGGREGATION_PACKET = 48;
const FRAGMENTATION_UNIT = 49;
/** RFC 7798, sections 4.4.2 and 4.4.3. */
const H265: NalFormat = {
  headerBytes: 2,
  isParameterSet: (nal) => [32, 33, 34].includes(((nal[0] ?? 0) >>> 1) & 0x3f),
  aggregateHeader: () => Buffer.from([AGGREGATION_PACKET << 1, 1]),
  fragmentHeader: (nal, ends) =>
    Buffer.from([
      ((nal[0] ?? 0) & 0x81) | (FRAGMENTATION_UNIT << 1),
      nal[1] ?? 0,
      ends | (((nal[0] ?? 0) >>> 1) & 0x3f),
    ]),
};

const FIRST = 0x80;
const LAST = 0x40;

/** Payloads of a picture: large NAL units in fragments, small ones together. */
export function videoPayloads(
  codec: 'h264' | 'h265',
  nals: readonly Buffer[],
  options: { aggregateParameterSets?: boolean } = {},
): Buffer[] {
  const format = codec === 'h264' ? H264 : H265;
  const alone = (nal: Buffer): boolean =>
    options.aggregateParameterSets !== true && format.isParameterSet(nal);
  return bundles(nals, alone).flatMap((bundle) => payloadsOf(bundle, format));
}

/** Payload of one frame of sound: a header of 13 bits for its length and 3 for its place (RFC 3640, section 3.3.6, AAC-hbr). */
export function soundPayload(frame: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16BE(16, 0);
  header.writeUInt16BE(frame.length << 3, 2);
  return Buffer.concat([header, frame]);
}

/** Neighbours that share a payload. */
function bundles(nals: readonly Buffer[], alone: (nal: Buffer) => boolean): Buffer[][] {
  const list: Buffer[][] = [];
  let room = 0;
  for (const nal of nals) {
    const size = nal.length + 2;
    const fits = size <= room && !alone(nal);
    if (fits) list.at(-1)?.push(nal);
    else list.push([nal]);
    room = alone(nal) ? 0 : (fits ? room : MAX_PAYLOAD - 2) - size;
  }
  return list;
}

function payloadsOf(bundle: readonly Buffer[], format: NalFormat): Buffer[] {
  const [first] = bundle;
  if (first === undefined) return [];
  if (bundle.length === 1) return first.length <= MAX_PAYLOAD ? [first] : fragments(first, format);
  const parts = bundle.flatMap((nal) => {
    const size = Buffer.alloc(2);
    size.writeUInt16BE(nal.length);
    return [size, nal];
  });
  return [Buffer.concat([format.aggregateHeader(bundle), ...parts])];
}

function fragments(nal: Buffer, format: NalFormat): Buffer[] {
  const pieces: Buffer[] = [];
  const room = MAX_PAYLOAD - format.headerBytes - 1;
  for (let at = format.headerBytes; at < nal.length; at += room) {
    const ends = (at === format.headerBytes ? FIRST : 0) | (at + room >= nal.length ? LAST : 0);
    pieces.push(Buffer.concat([format.fragmentHeader(nal, ends), nal.subarray(at, at + room)]));
  }
  return pieces;
}
