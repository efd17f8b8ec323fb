/** The boxes on the way to the tables of offsets (ISO/IEC 14496-12, section 8). */
const AROUND = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);
/** Size and type before the content of a box; version, flags and count before the offsets of a table. */
const BOX_HEAD = 8;
const TABLE_HEAD = 8;
/** Width and height end a `tkhd`, as numbers with 16 binary places. */
const WIDTH_BEFORE_END = 8;
const ONE = 0x10000;

/**
 * Tells an index that the media data lie elsewhere: all offsets in it (`stco`) grow, or shrink, by so many bytes.
 * The index is ours, so that its sizes are believed.
 */
export function shiftOffsets(index: Buffer, by: number): void {
  for (const [type, content] of boxesIn(index)) {
    if (AROUND.has(type)) shiftOffsets(content, by);
    if (type === 'stco') shiftTable(content, by);
  }
}

/** Tells an index how wide its pictures are shown, where their pixels are not square: sound has no width. */
export function showAt(index: Buffer, width: number): void {
  for (const [type, content] of boxesIn(index)) {
    if (type === 'moov' || type === 'trak') showAt(content, width);
    const at = content.length - WIDTH_BEFORE_END;
    if (type === 'tkhd' && content.readUInt32BE(at) > 0) content.writeUInt32BE(Math.round(width * ONE), at);
  }
}

function* boxesIn(index: Buffer): Iterable<[type: string, content: Buffer]> {
  for (let at = 0; at + BOX_HEAD <= index.length;) {
    const size = index.readUInt32BE(at);
    yield [index.toString('latin1', at + 4, at + BOX_HEAD), index.subarray(at + BOX_HEAD, at + size)];
    at += size;
  }
}

function shiftTable(table: Buffer, by: number): void {
  for (let at = TABLE_HEAD; at < table.length; at += 4) table.writeUInt32BE(table.readUInt32BE(at) + by, at);
}
