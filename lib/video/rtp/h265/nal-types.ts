/** ITU-T H.265, table 7-1; from 48: RFC 7798, section 4.4. */
export const NAL = {
  raslN: 8,
  raslR: 9,
  blaFirst: 16,
  blaLast: 18,
  idrFirst: 19,
  idrLast: 20,
  cra: 21,
  lastIrap: 23,
  vps: 32,
  sps: 33,
  pps: 34,
  ap: 48,
  fu: 49,
  paci: 50,
} as const;

/** Pictures that others refer to, or not: 0 to 9. */
const LAST_TRAILING = NAL.raslR;

export function typeOf(nal: Buffer): number {
  return ((nal[0] ?? 0) >> 1) & 0x3f;
}

/** 0 for the one layer that everybody decodes. */
export function layerOf(nal: Buffer): number {
  return (((nal[0] ?? 0) & 1) << 5) | ((nal[1] ?? 0) >> 3);
}

export function isSlice(type: number): boolean {
  return type <= LAST_TRAILING || (type >= NAL.blaFirst && type <= NAL.cra);
}

export function isIrap(type: number): boolean {
  return type >= NAL.blaFirst && type <= NAL.lastIrap;
}

export function isBla(type: number): boolean {
  return type >= NAL.blaFirst && type <= NAL.blaLast;
}

export function isIdr(type: number): boolean {
  return type === NAL.idrFirst || type === NAL.idrLast;
}

/** Shown before the key frame ahead of it, and may need pictures from before that one. */
export function isRasl(type: number): boolean {
  return type === NAL.raslN || type === NAL.raslR;
}
