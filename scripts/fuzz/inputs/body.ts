import type { Random } from '../random';
import { eventText, withOddField } from './event-text';
import { jsonText } from './json-text';
import { mutatedOften } from './mutation';

/** A body of a message, of any other JSON, or of what was one of them before it was changed. */
export function bodyOf(random: Random): Buffer {
  const text = random.chance(0.4)
    ? jsonText(random, 5)
    : eventText(random, random.chance(0.3) ? 'phrase' : null);
  const odd = random.chance(0.4) && text.startsWith('{"payloadType"') ? withOddField(random, text) : text;
  const body = Buffer.from(odd, 'utf8');
  return random.chance(0.5) ? mutatedOften(random, body, 1 + random.below(3)) : body;
}
