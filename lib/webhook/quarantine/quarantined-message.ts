import { createHmac, randomUUID } from 'node:crypto';
import type { QuarantinedMessage } from '../../inbox/inbox';
import {
  blankedBody,
  jsonOf,
  seemingObject,
  withToken,
  type JsonReading,
  type TokenReading,
} from '../../message/body';
import type { RawMessage } from '../proof/authenticate';
import { isSignatureText, readAuthorization } from '../proof/authorization-header';
import { LARGE_BODY } from '../proof/proof-work';
import type { ReceivingStation } from '../proof/receiving-station';

/** An unproven message that another phrase could prove, if it is well formed. */
interface Confirmable extends Pick<QuarantinedMessage, 'authorization' | 'body'> {
  token?: string;
}

/**
 * What of an unproven message another phrase could prove; undefined where it carries no proof, is no object, or is a large body.
 * It is scanned, and read as JSON only once it is proven: a stranger's may be made to cost time.
 */
export function confirmable({ body, authorization }: RawMessage): Confirmable | undefined {
  if (body.byteLength > LARGE_BODY) return undefined;
  const header = readAuthorization(authorization);
  const isSigned = 'text' in header && isSignatureText(header.text);
  const object = seemingObject(body);
  if (object === undefined) return undefined;
  const { kind, text: token } = object.token;
  if (kind !== 'text' && !(kind === 'absent' && isSigned)) return undefined;
  return {
    // Anything else may be somebody's password, or the phrase itself.
    authorization: isSigned ? authorization : [],
    body: blankedBody(body, object),
    ...(token !== undefined && { token }),
  };
}

/** An unproven message as it is kept. The token does not stay, only an HMAC of it. */
export function quarantinedMessage(
  { token, ...message }: Confirmable,
  request: Pick<QuarantinedMessage, 'endpointId' | 'receivedTime' | 'remoteAddress' | 'reason'>,
  key: Uint8Array,
): QuarantinedMessage {
  return { ...request, ...message, ...(token !== undefined && { tokenDigest: digestOf(token, key) }) };
}

/** A quarantined message as it came, as far as the phrases of these stations can tell what its token was. */
export function receivedAgain(
  { body, authorization, tokenDigest }: QuarantinedMessage,
  stations: readonly ReceivingStation[],
  key: Uint8Array,
): RawMessage {
  const phrases = stations.flatMap(({ secret, previousSecret }) => [secret, previousSecret]);
  const phrase = phrases.find((candidate) => digestOf(candidate, key) === tokenDigest);
  const read = jsonOf(body);
  // What stands in the kept body must prove nothing.
  const token: Omit<TokenReading, 'spans'> =
    tokenDigest === undefined ? { kind: 'absent' } : { kind: 'text', text: phrase ?? randomUUID() };
  const json = (): JsonReading => withToken(read(), { ...token, spans: read().token.spans });
  return { body, authorization, json, token: { ...token, spans: [] } };
}

function digestOf(token: string, key: Uint8Array): string {
  return createHmac('sha256', key).update(token).digest('hex');
}
