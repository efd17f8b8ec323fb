import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import { isJson } from '../../json/json';
import { type JsonReading, MOST_MARKS, unverifiedToken, type TokenReading } from '../../message/body';
import { isUsablePhrase, type ReceivingStation } from './receiving-station';

/** Content of the `Authorization` lines of a request, before any comparison. */
type AuthorizationReading =
  | { kind: 'absent' }
  /** Another scheme, or the scheme word alone: there is no signature to check. */
  | { kind: 'no-signature' }
  /** More than one line, or a value of impossible form. */
  | { kind: 'malformed' }
  | { kind: 'signature'; text: string }
  /** A Base-64 text without the scheme word; counts only where the station allows it. */
  | { kind: 'bare'; text: string };

const SCHEME = 'hmac-sha256';
const BARE_SIGNATURE = /^[A-Za-z0-9+/]{43}=$/;

/** True for a text in the form of a signature: 32 bytes in Base-64. */
export function isSignatureText(text: string): boolean {
  return BARE_SIGNATURE.test(text);
}

/**
 * Values of all `Authorization` lines, from the raw header list: the usual header object has only the first of several, while a
 * proxy in front may have used another.
 */
export function authorizationLines(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && isAuthorization(rawHeaders[index - 1]));
}

/** The raw header list without its `Authorization` lines. */
export function withoutAuthorization(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, index) => !isAuthorization(rawHeaders[index - (index % 2)]));
}

/** Header names are case-insensitive. */
export function isAuthorization(name: string | undefined): boolean {
  return name?.toLowerCase() === 'authorization';
}

/** Reads `Authorization: HMAC-SHA256 <BASE64_HMAC>` (specification, section 5). Schemes are case-insensitive in HTTP. */
export function readAuthorization(lines: readonly string[]): AuthorizationReading {
  const [line, ...others] = lines;
  if (line === undefined) return { kind: 'absent' };
  if (others.length > 0) return { kind: 'malformed' };
  // Not trimmed by a pattern, which would take quadratic time for blanks in the middle.
  const [scheme = '', text, ...more] = line.split(/[ \t]+/).filter((word) => word !== '');
  if (text === undefined)
    return isSignatureText(scheme) ? { kind: 'bare', text: scheme } : { kind: 'no-signature' };
  if (scheme.toLowerCase() !== SCHEME) return { kind: 'no-signature' };
  // White space inside the Base-64 text: a lax decoder would accept it, the comparison of texts does not.
  return more.length > 0 ? { kind: 'malformed' } : { kind: 'signature', text };
}

/**
 * Random, and valid in this process alone, so that its digests cannot be compared elsewhere. A key object, because from bytes
 * the key would be created again for each digest, which takes four times as long.
 */
const PROCESS_KEY = createSecretKey(randomBytes(32));

/**
 * The apparent token of a message. It is read and hashed once, when first needed, however many phrases it is compared with: a
 * stranger may make it as long as the body.
 */
class SentToken {
  #reading: TokenReading | undefined;
  #digest: Buffer | undefined;

  /** @param message `token`: the original token, where the body no longer contains it */
  constructor(private readonly message: { body: Uint8Array; token?: TokenReading }) {}

  get reading(): TokenReading {
    return (this.#reading ??= this.message.token ?? unverifiedToken(this.message.body));
  }

  /** Only a text can be a phrase. */
  get isText(): boolean {
    return this.reading.kind === 'text';
  }

  /** Constant-time comparison, over digests, so that the lengths do not show. */
  is(phrase: string): boolean {
    this.#digest ??= digestOf(this.reading.text ?? '');
    return timingSafeEqual(this.#digest, digestOf(phrase)) && this.isText;
  }
}

function digestOf(text: string): Buffer {
  return createHmac('sha256', PROCESS_KEY).update(text, 'utf8').digest();
}

/** A message as received: exact bytes and header lines, and the bytes as JSON, which is read once a phrase matches. */
export interface RawMessage {
  body: Uint8Array;
  /** Values of all `Authorization` lines. */
  authorization: readonly string[];
  json: () => JsonReading;
  /** The original token, where the body no longer contains it. */
  token?: TokenReading;
}

export type ProofFailure = 'no-signature' | 'bad-signature' | 'bad-token';

/** @typeParam Station how a station is identified; default: the station itself */
export type ProofResult<Station = ReceivingStation> =
  | {
      proven: true;
      station: Station;
      proof: 'hmac' | 'token';
      /** Which phrase proved it. */
      secret: 'current' | 'previous';
      /** True where the proof does not fit the configured scheme. */
      oddScheme: boolean;
    }
  | {
      proven: false;
      reason: ProofFailure;
      /** Station whose phrase came in clear text where only a signature counts: that phrase is leaked. */
      leaked?: Station;
    };

type Slot = 'current' | 'previous';
const SLOTS: readonly Slot[] = ['current', 'previous'];
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Replaces absent phrases. It is random, so that it can equal nothing sent. */
const NO_PHRASE = randomBytes(32).toString('hex');

/**
 * Decides whether a message is authentic, and of which station (specification, section 5): a pure function of bytes, header
 * lines and stations. The stations are tried in order, and the first that proves the message is its sender. A refusal costs the
 * same work at each station, and that of all of them; only a sender who knows a phrase can see where the search ended.
 *
 * At an `http` station only the signature counts. At an `https` station the token decides where there is one; without a token a
 * right signature, the stronger proof, counts too. A body is parsed as JSON only where it has a phrase or a right signature: a
 * stranger's may be made to cost time.
 */
export function authenticate(message: RawMessage, stations: readonly ReceivingStation[]): ProofResult {
  const header = readAuthorization(message.authorization);
  const token = new SentToken(message);
  for (const station of stations) {
    const signed = signedWith(station, message.body, header);
    const proven = provenBy(station, { signed, token, json: message.json });
    if (proven !== undefined) return proven;
  }
  // All stations, also those after a match, so that each costs the same.
  const sent = stations
    .filter(({ scheme }) => scheme === 'http')
    .map((station) => ({ station, slot: tokenOf(station, token) }));
  const named = sent.find(({ slot }) => slot !== undefined)?.station;
  const leaked = named !== undefined && isToken(message) ? named : undefined;
  const reason = reasonOf(header, token.reading, stations);
  return { proven: false, reason, ...(leaked && { leaked }) };
}

/** The possible proofs of a message. */
interface Evidence {
  /** The phrase of the station that signed the bytes. */
  signed: Slot | undefined;
  token: SentToken;
  json: RawMessage['json'];
}

/** Whether the apparent token is one: a token counts in a well-formed document only. */
function isToken({ json }: Pick<RawMessage, 'json'>): boolean {
  const { token, problem, text = '' } = json();
  return token.kind === 'text' && (problem === undefined || isJson(text));
}

function provenBy(station: ReceivingStation, { signed, token, json }: Evidence): ProofResult | undefined {
  if (station.scheme === 'http') {
    if (signed === undefined) return undefined;
    const oddScheme = json().token.kind !== 'absent';
    return { proven: true, station, proof: 'hmac', secret: signed, oddScheme };
  }
  const named = tokenOf(station, token);
  if (named !== undefined && isToken({ json }))
    return { proven: true, station, proof: 'token', secret: named, oddScheme: false };
  if (signed === undefined || json().token.kind !== 'absent') return undefined;
  return { proven: true, station, proof: 'hmac', secret: signed, oddScheme: true };
}

/** Bytes hashed before a message is refused: the whole body with each phrase. */
export function bytesToHash(
  { body, authorization }: Pick<RawMessage, 'body' | 'authorization'>,
  stations: readonly ReceivingStation[],
): number {
  const header = readAuthorization(authorization);
  const signed = stations.filter((station) => signatureText(station, header) !== undefined);
  return signed.length * SLOTS.length * signedForms(body).length * body.length;
}

/** The phrase that signed the bytes. */
function signedWith(
  station: ReceivingStation,
  body: Uint8Array,
  header: AuthorizationReading,
): Slot | undefined {
  const text = signatureText(station, header);
  if (text === undefined) return undefined;
  const forms = signedForms(body);
  return firstMatch(station, (phrase) =>
    forms
      .map((bytes) => sameSignature(createHmac('sha256', phrase).update(bytes).digest('base64'), text))
      .includes(true),
  );
}

function signatureText(station: ReceivingStation, header: AuthorizationReading): string | undefined {
  if (header.kind === 'signature') return header.text;
  return header.kind === 'bare' && station.acceptBareSignature ? header.text : undefined;
}

/**
 * The byte ranges of a body that may be signed. A sender that works on text signs without the byte-order mark that it sends.
 */
function signedForms(body: Uint8Array): Uint8Array[] {
  const { length } = BYTE_ORDER_MARK;
  const forms = [body];
  for (let form = body; forms.length <= MOST_MARKS && BYTE_ORDER_MARK.equals(form.subarray(0, length));) {
    form = form.subarray(length);
    forms.push(form);
  }
  return forms;
}

function tokenOf(station: ReceivingStation, token: SentToken): Slot | undefined {
  return token.isText ? firstMatch(station, (phrase) => token.is(phrase)) : undefined;
}

/** Always tries both phrases; an absent one is replaced by a key that matches nothing. */
function firstMatch(station: ReceivingStation, matches: (phrase: string) => boolean): Slot | undefined {
  const results = SLOTS.map((slot) => {
    const phrase = slot === 'current' ? station.secret : station.previousSecret;
    const usable = isUsablePhrase(phrase);
    return matches(usable ? phrase : NO_PHRASE) && usable;
  });
  return SLOTS.find((_, index) => results[index]);
}

/** Constant-time comparison; the length of a signature is no secret. */
function sameSignature(one: string, other: string): boolean {
  const [bytes, others] = [Buffer.from(one), Buffer.from(other)];
  return bytes.length === others.length && timingSafeEqual(bytes, others);
}

function reasonOf(
  header: AuthorizationReading,
  token: TokenReading,
  stations: readonly ReceivingStation[],
): ProofFailure {
  const unsigned = header.kind === 'absent' || header.kind === 'no-signature';
  const expectsToken = stations.some(({ scheme }) => scheme === 'https');
  const expectsSignature = stations.some(({ scheme }) => scheme === 'http');
  if (expectsToken && token.kind !== 'absent' && (unsigned || !expectsSignature)) return 'bad-token';
  if (!unsigned) return 'bad-signature';
  return expectsSignature ? 'no-signature' : 'bad-token';
}
