import { parseInSlices, TooDeepError } from '../../../lib/json/sliced-parser';
import { jsonText, nestedText } from '../inputs/json-text';
import { mutatedOften } from '../inputs/mutation';
import { depthOf, documentIn, partsOf, valueOf, type Document } from '../oracle/document';
import { reachesPrototype } from '../oracle/reading';
import type { Random } from '../random';
import { targetOf, type Complaint, type Target } from '../target';

type Answer = { value: unknown } | { refused: 'too deep' | 'no JSON' };

const DEEPEST = 64;
const BOUNDS = { depth: DEEPEST, values: Infinity, names: Infinity };
const DEPTHS = [2, 60, 63, 64, 65, 66, 500];
/** Of how many one is longer than what is parsed in one piece, in which all the rest of this takes place. */
const RARELY = 1 / 100;
/** Characters. */
const LONG = 70_000;

/** Answers of the service, short and long, against `JSON.parse`. */
export function slicedJsonTarget(): Target {
  return targetOf<string, Answer>({
    name: 'sliced JSON',
    share: 40_000,
    make: textOf,
    act: answerTo,
    judge: complaintAbout,
    shown: (text) => text,
  });
}

async function answerTo(text: string): Promise<Answer> {
  try {
    return { value: await parseInSlices(Buffer.from(text), BOUNDS) };
  } catch (error) {
    if (error instanceof TooDeepError) return { refused: 'too deep' };
    if (error instanceof SyntaxError) return { refused: 'no JSON' };
    throw error;
  }
}

function textOf(random: Random): string {
  const text = random.chance(RARELY) ? longText(random) : shortText(random);
  if (random.chance(0.4)) return text;
  return mutatedOften(random, Buffer.from(text), 1 + random.below(2)).toString('utf8');
}

function shortText(random: Random): string {
  const text = jsonText(random, 5);
  return random.chance(0.1) ? nestedText(random, text, random.pick(DEPTHS)) : text;
}

function longText(random: Random): string {
  const inner = shortText(random);
  const word = `"${random.text('ab,:[]{} \\\\', 40).replaceAll('\\', '\\\\')}"`;
  const element = random.pick([inner, word, `"${'x'.repeat(LONG)}"`]);
  const count = Math.ceil(LONG / element.length) + random.below(20);
  const elements = Array.from({ length: count }, () => (random.chance(0.01) ? shortText(random) : element));
  // A mark that is no JSON, before a member that is looked at apart.
  if (random.chance(0.05)) return `{"a":\uFEFF[${elements.join(',')}]}`;
  const list = `[${elements.join(random.pick([',', ', ', ' ,\n']))}]`;
  if (random.chance(0.4)) return list;
  if (random.chance(0.5)) return `{"a":1,"devices" : ${list},"b":${inner}}`;
  return `{${elements.map((each, place) => `"${place}-${random.pick(['a', '\\u0061', ','])}":${each}`).join(',')}}`;
}

function complaintAbout(text: string, answer: Answer): Complaint | undefined {
  const document = documentIn(text);
  if (document === undefined)
    return 'value' in answer ? { fault: 'accepted', reason: 'it is no JSON' } : undefined;
  const isTooDeep = depthOf(document) > DEEPEST;
  if ('refused' in answer)
    return isTooDeep && answer.refused === 'too deep'
      ? undefined
      : { fault: 'rejected', reason: answer.refused };
  if (isTooDeep) return { fault: 'accepted', reason: 'it is nested too deep' };
  if (isAmbiguous(document)) return undefined;
  const isSame = JSON.stringify(answer.value) === JSON.stringify(valueOf(document, Number, reachesPrototype));
  return isSame ? undefined : { fault: 'wrong', reason: 'another value than JSON.parse reads' };
}

/** Which of two members of one name counts is nobody's promise, where one of them is to be left out. */
function isAmbiguous(document: Document): boolean {
  return partsOf(document).some(
    (part) => part.kind === 'object' && part.members.filter(([name]) => name === 'constructor').length > 1,
  );
}
