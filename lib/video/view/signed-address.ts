import { createHmac, timingSafeEqual } from 'node:crypto';
import { RvmError } from '../../error';
import { isRecord, type JsonRecord, parseSafely } from '../../json/json';
import { beginOf } from '../../text';

/** Characters of an address: messengers and mail programs break longer ones. */
const LONGEST = 2048;
/** Characters of a name on the page. */
const LONGEST_NAME = 80;
/** Prefix of the signed text: the key signs nothing else that looks the same. */
const PURPOSE = 'remote-monitoring/view/1\n';
/** Characters of 32 bytes in base64url: the last one is never `-` or `_`, which messengers cut off from a link. */
const SIGNATURE = 43;

/** The right in an address, or why it is refused. */
export type ReadAddress = { right: ViewRight } | { refused: 'invalid' | 'expired' };

/**
 * The last part of the address of a page: the right, readable by every holder of the address, and its HMAC-SHA256. Every
 * instance with the key can verify it; nothing is stored.
 * @param key 32 random bytes
 * @throws RvmError BAD_INPUT where the ids are too long for an address
 */
export function signAddress(key: Uint8Array, right: ViewRight): string {
  const text = JSON.stringify({ ...right, facts: shortened(right.facts) });
  const body = Buffer.from(text).toString('base64url');
  const address = `${body}.${signatureOf(key, body)}`;
  if (address.length > LONGEST)
    throw new RvmError(
      'BAD_INPUT',
      'No address can be made: the ids of the camera are far longer than ids are.',
    );
  return address;
}

/**
 * Verifies an address. Never throws. Each address has exactly one spelling: its characters are signed, and signatures are
 * compared as text.
 * @param now milliseconds since 1970
 */
export function readAddress(key: Uint8Array, address: string, now: number): ReadAddress {
  const body = address.slice(0, -SIGNATURE - 1);
  const isShaped = address.length <= LONGEST && address.charAt(body.length) === '.';
  if (!isShaped || !isSame(address.slice(body.length + 1), signatureOf(key, body)))
    return { refused: 'invalid' };
  const right = readRight(Buffer.from(body, 'base64url').toString());
  if (right === undefined) return { refused: 'invalid' };
  return right.expires > now ? { right } : { refused: 'expired' };
}

function signatureOf(key: Uint8Array, body: string): string {
  return createHmac('sha256', key).update(PURPOSE).update(body).digest('base64url');
}

/** Constant time for texts of equal length. */
function isSame(one: string, other: string): boolean {
  const [bytes, others] = [Buffer.from(one), Buffer.from(other)];
  return bytes.length === others.length && timingSafeEqual(bytes, others);
}

function shortened(facts: ViewFacts): ViewFacts {
  const { site, camera, rule } = facts;
  return {
    ...facts,
    ...(site !== undefined && { site: nameOf(site) }),
    ...(camera !== undefined && { camera: nameOf(camera) }),
    ...(rule !== undefined && { rule: nameOf(rule) }),
  };
}

/** On one line. */
function nameOf(text: string): string {
  return beginOf(text.replace(/[\p{C}\s]+/gu, ' ').trim(), LONGEST_NAME);
}

/** Parses a right; undefined where it is invalid, for example of another version. Never throws. */
function readRight(text: string): ViewRight | undefined {
  const value = parsed(text);
  if (!isRecord(value) || !isRecord(value['camera']) || !isRecord(value['facts'])) return undefined;
  const { station, node, live, expires, recorded } = value;
  if (typeof station !== 'string' || typeof node !== 'string') return undefined;
  if (typeof live !== 'boolean' || typeof expires !== 'number') return undefined;
  const span = spanIn(recorded);
  if (span === undefined && (recorded !== undefined || !live)) return undefined;
  return {
    station,
    node,
    camera: cameraIn(value['camera']),
    ...(span && { recorded: span }),
    live,
    expires,
    facts: factsIn(value['facts']),
  };
}

function parsed(text: string): unknown {
  try {
    return parseSafely(text);
  } catch {
    return undefined;
  }
}

function spanIn(value: unknown): TimeSpan | undefined {
  if (!isRecord(value)) return undefined;
  const { from, to } = value;
  return typeof from === 'number' && typeof to === 'number' && from <= to ? { from, to } : undefined;
}

function cameraIn({ id, remoteId }: JsonRecord): ViewCamera {
  return { ...(typeof id === 'string' && { id }), ...(typeof remoteId === 'string' && { remoteId }) };
}

function factsIn({ time, site, camera, rule, sandbox }: JsonRecord): ViewFacts {
  return {
    ...(typeof time === 'number' && { time }),
    ...(typeof site === 'string' && { site }),
    ...(typeof camera === 'string' && { camera }),
    ...(typeof rule === 'string' && { rule }),
    sandbox: sandbox === true,
  };
}

/** Facts about the alarm on the page; each text is short. */
export interface ViewFacts {
  /** Start of the alarm in milliseconds since 1970. */
  time?: number;
  site?: string;
  /** Name of the camera. */
  camera?: string;
  rule?: string;
  /** True for an alarm of the sandbox. */
  sandbox: boolean;
}

/** A camera by the ids in its event; at least one is present. */
export interface ViewCamera {
  id?: string;
  remoteId?: string;
}

/** Milliseconds since 1970. */
export interface TimeSpan {
  from: number;
  to: number;
}

/** What one address opens. Every holder of the address has the right. */
export interface ViewRight {
  /** Key of the Central Station. */
  station: string;
  /** Id of the node that granted the right; the right is valid only while that node is deployed. */
  node: string;
  camera: ViewCamera;
  /** Span of the recording; undefined where only live video may be seen. */
  recorded?: TimeSpan;
  /** Whether live video may be seen. */
  live: boolean;
  /** End of the right in milliseconds since 1970. */
  expires: number;
  facts: ViewFacts;
}
