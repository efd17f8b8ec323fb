import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { UnreadableBody, unpacked, retryAfterMs } from '../../../lib/cloud/http/answer';
import { jsonText } from '../inputs/json-text';
import { mutated, mutatedOften } from '../inputs/mutation';
import type { Random } from '../random';
import { targetOf, type Complaint, type Target } from '../target';

const NOW = Date.parse('2026-03-04T05:06:07Z');
const HOUR = 60 * 60 * 1000;
const WAITS = [
  '0',
  '1',
  '120',
  '3600',
  '3601',
  '999999999',
  '9999999999',
  '-1',
  '1.5',
  '1e3',
  ' 5 ',
  '',
  'soon',
  '5, 6',
];

interface Wait {
  header: string;
  /** By RFC 9110, section 10.2.3; undefined where the header is neither a number of seconds nor a date of HTTP. */
  seconds: number | undefined;
}

/** `Retry-After`, in seconds, as a date, and as neither. */
export function retryAfterTarget(): Target {
  return targetOf<Wait, number | undefined>({
    name: 'Retry-After',
    share: 100_000,
    make: waitOf,
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

function waitOf(random: Random): Wait {
  const kind = random.below(4);
  const seconds = random.below(8000) - (kind === 1 ? 4000 : 0);
  if (kind === 0) return { header: String(seconds), seconds };
  if (kind === 1) return { header: new Date(NOW + seconds * 1000).toUTCString(), seconds };
  const header = kind === 2 ? random.pick(WAITS) : new Date(NOW + seconds * 1000).toUTCString();
  return { header: mutatedOften(random, Buffer.from(header), 1).toString('latin1'), seconds: undefined };
}

interface Packed {
  body: Buffer;
  header: string;
  /** What was packed; undefined where it was changed on the way. */
  plain: Buffer | undefined;
}

const CODINGS: readonly [header: string, pack: (plain: Buffer) => Buffer][] = [
  ['gzip', (plain) => gzipSync(plain, { level: 1 })],
  ['X-GZIP', (plain) => gzipSync(plain, { level: 1 })],
  ['deflate', (plain) => deflateSync(plain, { level: 1 })],
  ['identity, deflate', (plain) => deflateRawSync(plain, { level: 1 })],
  ['br', (plain) => brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['identity', (plain) => plain],
];
const OTHERS = ['gzip, br', 'zstd', '', ',', 'gzip\0', 'GZIP', 'br', 'deflate'];

/** Bodies that came compressed, or say so. */
export function contentCodingTarget(): Target {
  return targetOf<Packed, Buffer | UnreadableBody>({
    name: 'content coding',
    share: 9_000,
    make: packedOf,
    act: ({ body, header }) => unpacked(body, header, () => ['a secret']),
    judge: complaintAboutUnpacked,
    shown: ({ header, body }) => ({ header, body: body.toString('base64') }),
  });
}

function packedOf(random: Random): Packed {
  const plain = Buffer.from(jsonText(random, 4));
  const [header, pack] = random.pick(CODINGS);
  const body = pack(plain);
  const kind = random.below(3);
  if (kind === 0) return { header, body: mutated(random, body), plain: undefined };
  if (kind === 1) return { header: random.pick(OTHERS), body, plain: undefined };
  return { header, body, plain };
}

function complaintAboutUnpacked({ plain }: Packed, answer: Buffer | UnreadableBody): Complaint | undefined {
  if (plain === undefined) return undefined;
  if (answer instanceof UnreadableBody) return { fault: 'rejected', reason: answer.reason };
  return plain.equals(answer) ? undefined : { fault: 'wrong', reason: 'another body than was packed' };
}
