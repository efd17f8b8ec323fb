import * as fc from 'fast-check';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { UnreadableBody, unpacked, retryAfterMs } from '../../../lib/cloud/http/answer';
import { changes, jsonText } from '../inputs/any';
import { targetOf, type Complaint, type Target } from '../runner';

const NOW = Date.parse('2026-03-04T05:06:07Z');
const HOUR = 60 * 60 * 1000;

interface Wait {
  header: string;
  /** By RFC 9110, section 10.2.3; undefined where the header is neither a number of seconds nor a date of HTTP. */
  seconds: number | undefined;
}

const DATE = fc
  .integer({ min: -4000, max: 3999 })
  .map((seconds): Wait => ({ header: new Date(NOW + seconds * 1000).toUTCString(), seconds }));
const OTHER_WAIT = fc.constantFrom(
  ...'0|1|120|3600|3601|999999999|9999999999|-1|1.5|1e3| 5 ||soon|5, 6'.split('|'),
);
const CHANGED = fc
  .tuple(
    fc.oneof(
      OTHER_WAIT,
      DATE.map(({ header }) => header),
    ),
    changes(1),
  )
  .map(([header, change]): Wait => ({
    header: change(Buffer.from(header)).toString('latin1'),
    seconds: undefined,
  }));
const SECONDS = fc.nat(7999).map((seconds): Wait => ({ header: String(seconds), seconds }));
const WAIT = fc.oneof(SECONDS, DATE, CHANGED, CHANGED);

/** `Retry-After`, in seconds, as a date, and as neither. */
export function retryAfterTarget(): Target {
  return targetOf<Wait, number | undefined>({
    name: 'Retry-After',
    share: 100_000,
    inputs: WAIT,
    act: ({ header }) => retryAfterMs(header, NOW),
    judge: ({ seconds }, ms) => {
      if (ms !== undefined && !(ms >= 0 && ms <= HOUR)) return { fault: 'wrong', reason: `waits ${ms} ms` };
      const expected = seconds === undefined ? undefined : Math.min(HOUR, Math.max(0, seconds * 1000));
      if (expected === undefined || expected === ms) return undefined;
      return { fault: 'rejected', reason: `${ms} ms for ${seconds} s` };
    },
    shown: ({ header }) => header,
  });
}

interface Packed {
  body: Buffer;
  header: string;
  /** What was packed; undefined where it was changed on the way. */
  plain: Buffer | undefined;
}

const CODING = fc.constantFrom<[header: string, pack: (plain: Buffer) => Buffer]>(
  ['gzip', (plain) => gzipSync(plain, { level: 1 })],
  ['X-GZIP', (plain) => gzipSync(plain, { level: 1 })],
  ['deflate', (plain) => deflateSync(plain, { level: 1 })],
  ['identity, deflate', (plain) => deflateRawSync(plain, { level: 1 })],
  ['br', (plain) => brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['identity', (plain) => plain],
);
const OTHER_CODING = fc.constantFrom('gzip, br', 'zstd', '', ',', 'gzip\0', 'GZIP', 'br', 'deflate');
const PACKED = fc
  .tuple(
    jsonText(4),
    CODING,
    fc.oneof<fc.Arbitrary<(packed: Packed) => Packed>[]>(
      fc.constant((packed) => packed),
      OTHER_CODING.map((header) => ({ body }) => ({ header, body, plain: undefined })),
      changes(1).map((change) => ({ header, body }) => ({ header, body: change(body), plain: undefined })),
    ),
  )
  .map(([text, [header, pack], turn]) => {
    const plain = Buffer.from(text);
    return turn({ header, body: pack(plain), plain });
  });

/** Bodies that came compressed, or say so. */
export function contentCodingTarget(): Target {
  return targetOf<Packed, Buffer | UnreadableBody>({
    name: 'content coding',
    share: 9_000,
    inputs: PACKED,
    act: ({ body, header }) => unpacked(body, header, () => ['a secret']),
    judge: complaintAboutUnpacked,
    shown: ({ header, body }) => ({ header, body: body.toString('base64') }),
  });
}

function complaintAboutUnpacked({ plain }: Packed, answer: Buffer | UnreadableBody): Complaint | undefined {
  if (plain === undefined) return undefined;
  if (answer instanceof UnreadableBody) return { fault: 'rejected', reason: answer.reason };
  return plain.equals(answer) ? undefined : { fault: 'wrong', reason: 'another body than was packed' };
}
