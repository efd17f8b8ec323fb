import { createHmac } from 'node:crypto';
import { bodyText, withoutMarks } from './body-text';
import { documentIn, type Document } from './document';

/** What a station of an endpoint is judged by. */
export interface Registration {
  scheme: 'http' | 'https';
  secret: string;
  /** '' = none. */
  previousSecret: string;
  acceptBareSignature: boolean;
}

/** Body and `Authorization` lines. */
export interface Sent {
  body: Uint8Array;
  authorization: readonly string[];
}

/** What the specification says of a message (section 5). */
export type Verdict =
  | { kind: 'genuine'; place: number; proof: 'hmac' | 'token'; secret: 'current' | 'previous' }
  /** `burnt`: place of the station whose phrase came in clear where only a signature counts. */
  | { kind: 'refused'; burnt: number | undefined }
  /** Neither the specification nor the cases of the receiver decide. */
  | { kind: 'open' };

type Token = { kind: 'absent' | 'unusable' | 'open' } | { kind: 'text'; text: string };

/** Characters of 32 bytes in Base-64. */
const LENGTH = 44;
const TOKEN_NAMES = ['authenticationToken', 'AuthenticationToken'];

/** @param stations in the order in which they are tried */
export function verdictOn(sent: Sent, stations: readonly Registration[]): Verdict {
  const token = tokenOf(sent.body);
  for (const [place, station] of stations.entries()) {
    const verdict = verdictOf(station, place, sent, token);
    if (verdict !== undefined) return verdict;
  }
  const burnt = stations.findIndex(
    (station) =>
      station.scheme === 'http' && token.kind === 'text' && slotOf(station, token.text) !== undefined,
  );
  return { kind: 'refused', burnt: burnt < 0 ? undefined : burnt };
}

function verdictOf(station: Registration, place: number, sent: Sent, token: Token): Verdict | undefined {
  const named = token.kind === 'text' ? slotOf(station, token.text) : undefined;
  if (station.scheme === 'https' && named !== undefined)
    return { kind: 'genuine', place, proof: 'token', secret: named };
  const signed = signedBy(station, sent);
  if (signed === undefined) return undefined;
  // At `https` a token decides where there is one (C-86 to C-88).
  if (station.scheme === 'https' && token.kind === 'open') return { kind: 'open' };
  if (station.scheme === 'https' && token.kind !== 'absent') return undefined;
  return { kind: 'genuine', place, proof: 'hmac', secret: signed };
}

function slotOf(station: Registration, text: string): 'current' | 'previous' | undefined {
  if (text === station.secret) return 'current';
  return isPhrase(station.previousSecret) && text === station.previousSecret ? 'previous' : undefined;
}

/** An empty key proves nothing, nor does a word for no value (C-26), nor one with a NUL (C-30). */
function isPhrase(phrase: string): boolean {
  return !/^(?:\s*|null|undefined)$/.test(phrase) && !phrase.includes('\0') && !/^\$[({].*[)}]$/.test(phrase);
}

function signedBy(station: Registration, sent: Sent): 'current' | 'previous' | undefined {
  const text = signatureIn(sent.authorization, station.acceptBareSignature);
  if (text?.length !== LENGTH) return undefined;
  if (signaturesOf(station.secret, sent.body).includes(text)) return 'current';
  const isSet = isPhrase(station.previousSecret);
  return isSet && signaturesOf(station.previousSecret, sent.body).includes(text) ? 'previous' : undefined;
}

/** One line, the scheme in any case (C-06), blanks between and around (C-08). The text is compared, whatever it is (C-13). */
function signatureIn(lines: readonly string[], acceptBare: boolean): string | undefined {
  const [line, ...others] = lines;
  if (line === undefined || others.length > 0) return undefined;
  const found = /^[ \t]*(?:(hmac-sha256)[ \t]+)?(.*?)[ \t]*$/i.exec(line);
  return found?.[1] !== undefined || acceptBare ? found?.[2] : undefined;
}

/** Of the bytes as they came, and without marks before them (C-22, C-23). */
function signaturesOf(phrase: string, body: Uint8Array): string[] {
  const signed = withoutMarks(body);
  return signed.map((bytes) =>
    createHmac('sha256', Buffer.from(phrase, 'utf8')).update(bytes).digest('base64'),
  );
}

/** The one token of the envelope (C-79 to C-84). */
function tokenOf(body: Uint8Array): Token {
  const text = bodyText(body);
  if (text === undefined) return { kind: 'absent' };
  // Its name, or an escape that may be in the name.
  const mayHoldName = /\\|uthenticationToken/.test(text);
  if (!mayHoldName) return { kind: 'absent' };
  const document = documentIn(text);
  // Whether a text that is no JSON has a token nobody can say.
  return document === undefined ? { kind: 'open' } : tokenIn(document);
}

function tokenIn(document: Document): Token {
  const members = document.kind === 'object' ? document.members : [];
  const [found, ...others] = members.filter(([name]) => TOKEN_NAMES.includes(name));
  if (found === undefined) return { kind: 'absent' };
  if (others.length > 0) return { kind: 'unusable' };
  const [, token] = found;
  if (token.kind !== 'word') return { kind: 'unusable' };
  if (token.value === null || token.value === '') return { kind: 'absent' };
  return typeof token.value === 'string' ? { kind: 'text', text: token.value } : { kind: 'unusable' };
}
