import { createHmac, timingSafeEqual } from 'node:crypto';
import { RvmError } from '../../error';
import { beginOf } from '../../text';
import { readRight } from './read-right';
import type { ViewFacts, ViewRight } from './right';

/** Characters of an address: messengers and mail programs break longer ones. */
const LONGEST = 2048;
/** Characters of a name on the page. */
const LONGEST_NAME = 80;
/** Stands before what is signed, so that the key signs nothing else that looks the same. */
const PURPOSE = 'remote-monitoring/view/1\n';
/** 32 bytes in base64url: its last character is never a `-` or `_`, which messengers leave out at the end of a link. */
const SIGNATURE = 43;

/** What an address opens, or why it opens nothing. */
export type ReadAddress = { right: ViewRight } | { refused: 'invalid' | 'expired' };

/**
 * The last part of a page's address: the right itself, which anybody may read who has it, and its HMAC-SHA256. Any instance
 * that has the key can read it; nothing is stored.
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
 * Never throws. There is one spelling of an address: the signature is of its characters, and is compared as text.
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

/** In a time that depends on neither. */
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

/** One line. */
function nameOf(text: string): string {
  return beginOf(text.replace(/[\p{C}\s]+/gu, ' ').trim(), LONGEST_NAME);
}
