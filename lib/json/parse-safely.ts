import sjson from 'secure-json-parse';

/** What a text of JSON says, without keys that would reach into prototypes. @throws SyntaxError where it is no JSON */
export function parseSafely(text: string): unknown {
  const value: unknown = sjson.parse(text, undefined, { protoAction: 'remove', constructorAction: 'remove' });
  return value;
}
