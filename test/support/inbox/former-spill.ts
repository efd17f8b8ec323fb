import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import type { NewMessage } from '../../../lib/inbox/store/protocol';

/** Writes a spill file as version 0.1 left it: each frame is a message, and nothing else. */
export function writeFormerSpill(folder: string, messages: readonly NewMessage[]): void {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'spill-1'), Buffer.concat(messages.map(formerFrame)));
}

function formerFrame({ bytes, ...columns }: NewMessage): Buffer {
  const content = Buffer.concat([Buffer.from(`${JSON.stringify(columns)}\n`), bytes]);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length, 0);
  head.writeUInt32BE(zlib.crc32(content), 4);
  return Buffer.concat([head, content]);
}
