import { unescaped } from './bits';
import { box, u16 } from './mp4-boxes';

/** The box that tells a player of an MP4 how to decode its samples (ISO/IEC 14496-15): `avcC` or `hvcC`. */
export function decoderConfiguration(codec: 'h264' | 'h265', parameterSets: readonly Buffer[]): Buffer {
  return codec === 'h264' ? avcC(parameterSets) : hvcC(parameterSets);
}

/** Section 5.3.3.1.2. */
function avcC([sps = Buffer.alloc(4), pps = Buffer.alloc(0)]: readonly Buffer[]): Buffer {
  const head = Buffer.concat([Buffer.from([1]), sps.subarray(1, 4), Buffer.from([0xff, 0xe1])]);
  return box('avcC', head, u16(sps.length), sps, Buffer.from([1]), u16(pps.length), pps);
}

/** Section 8.3.3.1.2; profile, tier and level stand in the SPS from its fourth byte on (H.265, section 7.3.2.2). */
function hvcC(parameterSets: readonly Buffer[]): Buffer {
  const sps = unescaped(parameterSets[1] ?? Buffer.alloc(15));
  const head = Buffer.from([
    1,
    ...sps.subarray(3, 15),
    0xf0,
    0,
    0xfc,
    0xfd,
    0xf8,
    0xf8,
    0,
    0,
    0x0f,
    parameterSets.length,
  ]);
  const arrays = parameterSets.flatMap((nal) => [
    Buffer.from([0x80 | (((nal[0] ?? 0) >>> 1) & 0x3f), 0, 1]),
    u16(nal.length),
    nal,
  ]);
  return box('hvcC', head, ...arrays);
}
