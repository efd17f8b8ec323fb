import * as fc from 'fast-check';
import { parseInSlices, TooDeepError } from '../../../lib/json/sliced-parser';
import { changesIn, list, mixed, text as textOf, jsonText, nestedText } from '../inputs/any';
import { depthOf, documentIn, partsOf, valueOf, type Document, reachesPrototype } from '../oracle/message';
import { targetOf, type Complaint, type Target } from '../runner';

type Answer = { value: unknown } | { refused: 'too deep' | 'no JSON' };

const DEEPEST = 64;
const BOUNDS = { depth: DEEPEST, values: Infinity, names: Infinity };
/** Characters: longer than what is parsed in one piece. */
const LONG = 70_000;

const SHORT_TEXT = mixed(
  [9, jsonText(5)],
  [1, nestedText(jsonText(5), fc.constantFrom(2, 60, 63, 64, 65, 66, 500))],
);
const ELEMENT = mixed(
  [1, SHORT_TEXT],
  [1, textOf('ab,:[]{} \\', 40).map((word) => JSON.stringify(word))],
  [1, fc.constant(`"${'x'.repeat(LONG)}"`)],
);
/** What a long list stands in. */
const LONG_FORM = mixed<(elements: string[], gap: string, inner: string) => string>(
  // A mark that is no JSON, before a member that is looked at apart.
  [5, fc.constant((elements) => `{"a":\uFEFF[${elements.join(',')}]}`)],
  [38, fc.constant((elements, gap) => `[${elements.join(gap)}]`)],
  [28, fc.constant((elements, gap, inner) => `{"a":1,"devices" : [${elements.join(gap)}],"b":${inner}}`)],
  [
    29,
    list(fc.constantFrom('a', '\\u0061', ','), 8).map(
      (names) => (elements) =>
        `{${elements.map((each, index) => `"${index}-${names[index % 8] ?? ''}":${each}`).join(',')}}`,
    ),
  ],
);
const LONG_TEXT = fc
  .record({
    element: ELEMENT,
    more: fc.nat(19),
    others: list(fc.tuple(fc.nat(), SHORT_TEXT), 0, 8),
    gap: fc.constantFrom(',', ', ', ' ,\n'),
    inner: SHORT_TEXT,
    form: LONG_FORM,
  })
  .map(({ element, more, others, gap, inner, form }) => {
    const elements = Array<string>(Math.ceil(LONG / element.length) + more).fill(element);
    for (const [index, other] of others) elements[index % elements.length] = other;
    return form(elements, gap, inner);
  });
/** In short ones all takes place but the cutting. */
const TEXT = fc
  .tuple(mixed([99, SHORT_TEXT], [1, LONG_TEXT]), changesIn(60, 1, 2))
  .map(([text, change]) => change(Buffer.from(text)).toString('utf8'));
/** A byte-order mark before all, and inside, where the rest would be parsed at once. */
const EXAMPLES = [`\uFEFF["${'x'.repeat(LONG)}"]`, `{"a":\uFEFF["${'x'.repeat(LONG)}"]}`];

/** Answers of the service, short and long, against `JSON.parse`. */
export function slicedJsonTarget(): Target {
  return targetOf<string, Answer>({
    name: 'sliced JSON',
    share: 40_000,
    inputs: TEXT,
    examples: EXAMPLES,
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
