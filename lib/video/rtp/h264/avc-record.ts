/** How colours are sampled and how fine. */
export interface Sampling {
  chromaFormat: number;
  separatePlanes: boolean;
  bitDepthLuma: number;
  bitDepthChroma: number;
}

/** Lengths of NAL units in the file have four bytes. */
const LENGTHS = 0xff;

/**
 * The `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, section 5.3.3.1).
 * @param sampling of the high profiles, which alone say it
 */
export function avcRecord(sps: Buffer, pps: readonly Buffer[], sampling: Sampling | undefined): Buffer {
  return Buffer.concat([
    Buffer.from([1]),
    sps.subarray(1, 4),
    Buffer.from([LENGTHS, 0xe1]),
    withLength(sps),
    Buffer.from([pps.length]),
    ...pps.map(withLength),
    ...(sampling ? [samplingBytes(sampling)] : []),
  ]);
}

function withLength(nal: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(nal.length);
  return Buffer.concat([length, nal]);
}

/** No extensions of the sequence parameter set. */
function samplingBytes({ chromaFormat, bitDepthLuma, bitDepthChroma }: Sampling): Buffer {
  return Buffer.from([0xfc | chromaFormat, 0xf8 | (bitDepthLuma - 8), 0xf8 | (bitDepthChroma - 8), 0]);
}
