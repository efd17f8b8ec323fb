import { createHmac, randomUUID } from 'node:crypto';
import type { QuarantinedMessage } from '../../inbox/inbox';
import { blankedBody } from '../../message/blanked-body';
import { readEnvelope } from '../../message/envelope';
import { jsonOf, withToken, type JsonReading } from '../../message/json-reading';
import type { TokenReading } from '../../message/token-scan';
import type { RawMessage } from '../proof/authenticate';
import { isSignatureText, readAuthorization } from '../proof/authorization-header';
import { LARGE_BODY } from '../proof/large-body';
import type { ReceivingStation } from '../proof/receiving-station';

/**
 * An unproven message as it may be kept, or undefined where it is none: a large body, whose JSON would cost time here; no
 * well-formed envelope, or no proof that another phrase could confirm. The token does not stay, only an HMAC of it.
 */
export function quarantinedMessage(
  { body, authorization, json }: RawMessage,
  request: Pick<QuarantinedMessage, 'endpointId' | 'receivedTime' | 'remoteAddress' | 'reason'>,
  key: Uint8Array,
): QuarantinedMessage | undefined {
  if (body.byteLength > LARGE_BODY || !readEnvelope(json()).usable) return undefined;
  const { token } = json();
  // Anything else in the header may be somebody's password, or the phrase itself.
  const header = readAuthorization(authorization);
  const isSigned = 'text' in header && isSignatureText(header.text);
  if (token.kind !== 'text' && !(token.kind === 'absent' && isSigned)) return undefined;
  return {
    ...request,
    authorization: isSigned ? authorization : [],
    ...(token.text !== undefined && { tokenDigest: digestOf(token.text, key) }),
    body: blankedBody(body, json()),
  };
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
