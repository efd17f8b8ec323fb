/** ITU-T H.264, table 7-1; from 24: RFC 6184, table 1. */
export const NAL = {
  slice: 1,
  idr: 5,
  sei: 6,
  sps: 7,
  pps: 8,
  stapA: 24,
  fuA: 28,
  fuB: 29,
} as const;

export function typeOf(nal: Buffer): number {
  return (nal[0] ?? 0) & 0x1f;
}
