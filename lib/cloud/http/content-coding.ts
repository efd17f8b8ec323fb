import { promisify } from 'node:util';
import {
  brotliDecompress,
  gunzip,
  inflate,
  inflateRaw,
  type BrotliOptions,
  type ZlibOptions,
} from 'node:zlib';
import { MAX_ANSWER_BYTES } from './connection/connections';
import { maskedStart } from '../secret-mask';
import { oneLine } from '../shown';

/** What requests ask for: all that can be read. */
export const READABLE_CODINGS = 'gzip, deflate, br';

/** A body that cannot be had, and what is to be said to whoever wants it. */
export class UnreadableBody {
  constructor(readonly reason: string) {}
}

/** Unpacked. One that grows beyond what is read at all is cut off there, however much more would come. */
const LIMITS = { maxOutputLength: MAX_ANSWER_BYTES, chunkSize: 64 * 1024 } satisfies ZlibOptions &
  BrotliOptions;
/** Of the name of a coding no more is quoted: it is a text of the service. */
const MAX_QUOTED = 60;

const ADVICE = 'have the service, or the proxy in between, send it as it is';
/** Said of an answer that is cut off at the limit, packed or not. */
export const TOO_LARGE = 'The answer of the service is too large to be read.';
const BROKEN = 'The compressed answer of the service is broken; try again, or report it to the service.';

type Unpack = (packed: Buffer) => Promise<Buffer>;

const gunzipped = promisify<Buffer, ZlibOptions, Buffer>(gunzip);
const inflated = promisify<Buffer, ZlibOptions, Buffer>(inflate);
const inflatedRaw = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw);
const unbrotlied = promisify<Buffer, BrotliOptions, Buffer>(brotliDecompress);

/** By the name of the coding (RFC 9110, section 8.4.1). */
const UNPACK: ReadonlyMap<string, Unpack> = new Map<string, Unpack>([
  ['gzip', (packed) => gunzipped(packed, LIMITS)],
  ['x-gzip', (packed) => gunzipped(packed, LIMITS)],
  ['deflate', (packed) => (hasZlibHead(packed) ? inflated(packed, LIMITS) : inflatedRaw(packed, LIMITS))],
  ['br', (packed) => unbrotlied(packed, LIMITS)],
]);

/** The names in a `Content-Encoding` header of one or more lines, in small letters; none where the body is as it was. */
function codingsIn(header: string | readonly string[]): string[] {
  return [header]
    .flat()
    .join(',')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
}

/**
 * The body of an answer as it was before it was compressed, at most 32 MiB of it. Several codings one over the other are
 * not read: each would make a bomb a thousand times larger.
 * @param header `Content-Encoding` of the answer
 * @param secrets texts that no error may repeat
 */
export function unpacked(
  body: Buffer,
  header: string | readonly string[] | undefined,
  secrets: () => readonly string[],
): Buffer | Promise<Buffer | UnreadableBody> {
  const codings = header === undefined ? [] : codingsIn(header);
  // To an empty body, such as that of a 204, some gateways add the header all the same.
  if (codings.length === 0 || body.length === 0) return body;
  const [only = '', ...others] = codings;
  const unpack = others.length === 0 ? UNPACK.get(only) : undefined;
  if (unpack === undefined) return Promise.resolve(unknownCoding(codings, secrets()));
  return unpack(body).catch((error: unknown) => new UnreadableBody(isTooLarge(error) ? TOO_LARGE : BROKEN));
}

function unknownCoding(codings: readonly string[], secrets: readonly string[]): UnreadableBody {
  const named = oneLine(maskedStart(codings.join(', '), secrets, 4 * MAX_QUOTED), MAX_QUOTED);
  return new UnreadableBody(
    `The answer of the service is compressed in a way that was not asked for ("${named}"); ${ADVICE}.`,
  );
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

/** Some call it deflate and leave out the two bytes of zlib before it (RFC 1950, section 2.2). */
function hasZlibHead(packed: Buffer): boolean {
  const [method = 0, flags = 0] = packed;
  return (method & 0x0f) === 8 && (method * 256 + flags) % 31 === 0;
}
