import { redactedBody, readJson, type JsonReading } from '../../../lib/message/body';
import { BODY } from '../inputs/webhook';
import { contentOf, type Content } from '../oracle/message';
import { targetOf, type Complaint, type Target } from '../runner';

interface Answer {
  reading: JsonReading;
  value: unknown;
  keysStripped: boolean;
}

/** Bodies that are JSON, nearly are, or are not. */
export function readingTarget(read: typeof readJson = readJson): Target {
  return targetOf<Buffer, Answer>({
    name: 'reading',
    share: 170_000,
    inputs: BODY,
    // With the byte-order marks that a sender may put before it, and with one too many.
    examples: [1, 2, 3].map((marks) => Buffer.from(`${'\uFEFF'.repeat(marks)}{"a":1}`)),
    act: (body) => {
      const reading = read(body);
      redactedBody(body, reading);
      return { reading, value: reading.value, keysStripped: reading.keysStripped };
    },
    judge: (body, answer) => complaintAbout(contentOf(body), answer),
    shown: (body) => body,
  });
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
