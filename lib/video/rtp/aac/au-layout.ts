/** How the headers of access units are laid out, in bits (RFC 3640, section 4.1); 0 = not there. */
export interface AuLayout {
  size: number;
  index: number;
  indexDelta: number;
  compositionDelta: number;
  decodingDelta: number;
  randomAccess: number;
  streamState: number;
  /** Of the length of an auxiliary section. */
  auxiliarySize: number;
}

const MOST_BITS = 32;
/** Bits of a size: AAC needs 13. */
const MOST_SIZE = 16;

/** From the parameters of `a=fmtp`; undefined where they cannot be, or leave the sizes out. */
export function auLayoutOf(parameters: ReadonlyMap<string, string>): AuLayout | undefined {
  const bits = (name: string): number => Number(parameters.get(name) ?? '0');
  const layout: AuLayout = {
    size: bits('sizelength'),
    index: bits('indexlength'),
    indexDelta: bits('indexdeltalength'),
    compositionDelta: bits('ctsdeltalength'),
    decodingDelta: bits('dtsdeltalength'),
    randomAccess: bits('randomaccessindication'),
    streamState: bits('streamstateindication'),
    auxiliarySize: bits('auxiliarydatasizelength'),
  };
  const isRight = Object.values(layout).every(
    (each) => Number.isInteger(each) && each >= 0 && each <= MOST_BITS,
  );
  return isRight && layout.size > 0 && layout.size <= MOST_SIZE && layout.randomAccess <= 1
    ? layout
    : undefined;
}
