import { blankedBody } from '../../lib/message/blanked-body';
import { readJson, type JsonReading } from '../../lib/message/json-reading';
import { eventText, withOddField } from '../inputs/event-text';
import { jsonText } from '../inputs/json-text';
import { mutatedOften } from '../inputs/mutation';
import { contentOf, type Content } from '../oracle/reading';
import type { Random } from '../random';
import { targetOf, type Complaint, type Target } from '../target';

interface Answer {
  reading: JsonReading;
  value: unknown;
  keysStripped: boolean;
}

/** Bodies that are JSON, nearly are, or are not. */
export function readingTarget(read: typeof readJson = readJson): Target {
  return targetOf<Buffer, Answer>({
    name: 'reading',
    share: 200_000,
    make: bodyOf,
    act: (body) => {
      const reading = read(body);
      blankedBody(body, reading);
      return { reading, value: reading.value, keysStripped: reading.keysStripped };
    },
    judge: (body, answer) => complaintAbout(contentOf(body), answer),
    shown: (body) => body,
  });
}

export function bodyOf(random: Random): Buffer {
  const text = random.chance(0.4)
    ? jsonText(random, 5)
    : eventText(random, random.chance(0.3) ? 'phrase' : null);
  const odd = random.chance(0.4) && text.startsWith('{"payloadType"') ? withOddField(random, text) : text;
  const body = Buffer.from(odd, 'utf8');
  return random.chance(0.5) ? mutatedOften(random, body, 1 + random.below(3)) : body;
}

function complaintAbout(content: Content, { reading, value, keysStripped }: Answer): Complaint | undefined {
  const { problem } = reading;
  if (content.kind === 'read') {
    if (problem !== undefined) return { fault: 'rejected', reason: problem };
    const isSame =
      JSON.stringify(value) === JSON.stringify(content.value) &&
      keysStripped === content.keysStripped &&
      reading.numberAsText === content.numberAsText;
    return isSame ? undefined : { fault: 'wrong', reason: 'another value than the oracle reads' };
  }
  if (problem === undefined) return { fault: 'accepted', reason: `the oracle says ${content.kind}` };
  return isRightReason(content, problem)
    ? undefined
    : { fault: 'wrong', reason: `${problem} for ${content.kind}` };
}

function isRightReason(content: Exclude<Content, { kind: 'read' }>, problem: string): boolean {
  if (content.kind === 'not-utf8') return problem === 'not-utf8';
  if (content.kind === 'refused') return content.reasons.includes(problem);
  // What is no JSON may be beyond a bound as well.
  return problem === 'not-json' || (!content.isShort && ['too-deep', 'too-large'].includes(problem));
}
