import type { Registration, Sent } from '../oracle/proof';
import type { Random } from '../random';
import { authorizationOf, oddAuthorization } from './authorization';
import { phraseFor } from './endpoint';
import { eventText, withMember, withOddField } from './event-text';
import { mutatedOften } from './mutation';

/** A message that was genuine once, and what became of it on the way. Some still are. */
export function sentTo(random: Random, registrations: readonly Registration[]): Sent {
  const phrase = phraseFor(random, registrations);
  const isSigned = random.chance(0.6);
  const text = bodyOf(random, random.chance(isSigned ? 0.2 : 0.9) ? phrase : null);
  // Before the signature is made: whoever has the phrase signs whatever they will.
  const signed = changedSometimes(random, Buffer.from(text, 'utf8'), 0.3);
  const authorization = isSigned ? linesFor(random, phrase, signed) : [];
  const body = changedSometimes(random, signed, 0.25);
  return { body: Buffer.from(body), authorization };
}

function linesFor(random: Random, phrase: string, body: Buffer): string[] {
  return random.chance(0.4) ? oddAuthorization(random, phrase, body) : [authorizationOf(phrase, body)];
}

function changedSometimes(random: Random, body: Buffer, often: number): Buffer {
  if (!random.chance(often)) return body;
  return mutatedOften(random, body, 1 + random.below(3), Buffer.from(eventText(random, 'another')));
}

function bodyOf(random: Random, token: string | null): string {
  const text = eventText(random, token);
  const kind = random.below(16);
  if (kind < 8) return text;
  if (kind === 8) return withOddField(random, text);
  return oddToken(random, text, JSON.stringify(token ?? 'x'), kind);
}

/** Other ways to say the token (C-80 to C-84). */
function oddToken(random: Random, text: string, token: string, kind: number): string {
  const name = 'authenticationToken';
  if (kind === 9) return withMember(text, random.pick([name, `A${name.slice(1)}`]), token);
  if (kind === 10) return text.replace(name, `A${name.slice(1)}`);
  if (kind === 11) return text.replace(name, escapedSomewhere(random, name));
  if (kind === 12) return text.replace(`"${name}"`, `"payload":{"${name}":${token}},"x"`);
  if (kind === 13)
    return text.replace(token, () => random.pick([`[${token}]`, `{"a":${token}}`, 'true', '0', '""']));
  if (kind === 14) return text.replace(token, () => escapedToken(token));
  return random.pick([`[${text}]`, `{"a":${text}}`, token, `${text}${text}`, '', 'null']);
}

function escapedSomewhere(random: Random, name: string): string {
  const at = random.below(name.length);
  return name.slice(0, at) + escapeOf(name.charAt(at)) + name.slice(at + 1);
}

/** Each character of the text in a JSON literal as an escape. */
function escapedToken(literal: string): string {
  return `"${String(JSON.parse(literal)).split('').map(escapeOf).join('')}"`;
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
