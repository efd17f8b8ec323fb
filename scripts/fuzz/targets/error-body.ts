import * as fc from 'fast-check';
import { readErrorBody, type ErrorBody } from '../../../lib/cloud/http/answer';
import { changesIn, mixed, text, recordText, SPELLING, tells } from '../inputs/any';
import { targetOf, type Complaint, type Target } from '../runner';

interface Input {
  body: string;
  secrets: string[];
  /** The secret as it stands in the body. */
  planted: string;
}

const HERE = '\u0001';
/** Where an error names what was sent. */
const BODY = fc.constantFrom(
  HERE,
  `The key ${HERE} is not known.`,
  `{"code":"${HERE}","message":"x"}`,
  `{"message":"The key ${HERE} is not known."}`,
  `{"error":{"code":7,"message":"${HERE}"}}`,
  `{"errors":{"ApiKey":["${HERE} is wrong"]}}`,
  `{"meta":{"name":"x","detail":" ${HERE}"}}`,
  `"${HERE}"`,
  `<html><head><title>${HERE}</title></head><body>x</body></html>`,
  `<!DOCTYPE html><p>Bad key <b>${HERE}</b>`,
  `LIKE '%${HERE}%'`,
  `{"message":"C:\\\\${HERE}"}`,
  `<script>var key = '${HERE}'</script><p>x`,
);
/** Beginnings of a secret: some of them a sign before it turns into an escape. */
const START = fc.constantFrom('Q', 'Q', 'Q', '7f', 'ab12', 'u00e9', 'n');
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789-_.!/+= ';

const TEMPLATE = mixed([90, BODY], [10, recordText(4).map((record) => record.replace('"x"', `"${HERE}"`))]);
const PADDED = fc
  .tuple(TEMPLATE, mixed([99, fc.constant(0)], [1, fc.nat(1499)]))
  .map(([template, words]) =>
    words === 0 ? template : template.replace(HERE, () => `${'long '.repeat(words)} ${HERE}`),
  );
const SECRET = fc.tuple(START, text(LETTERS, 14, 33)).map(([start, rest]) => `${start}${rest}z7`);
/** Changed before the secret is put in: one that was changed is no secret any more. */
const INPUT = fc
  .tuple(SECRET, SPELLING, PADDED, changesIn(40, 1, 2))
  .map(([secret, spell, template, change]) =>
    inputOf(secret, spell(secret), change(Buffer.from(template)).toString('utf8')),
  );

/** A stray sign makes an escape of the beginning of a secret. */
const EXAMPLES = [
  ['abcd efgh-ijkl', 'abcd%20efgh-ijkl', `LIKE '%${HERE}%'`],
  ['abcd efgh-ijkl', 'abcd%2520efgh-ijkl', `LIKE '%${HERE}%'`],
  ['abcd efgh-ijkl', '61626364%32%30656667682d696a6b6c', `LIKE '%${HERE}%'`],
  ['abcd efgh-ijkl', 'abcd%20efgh-ijkl', `C:\\u${HERE}`],
  ['new secret-key', 'new%20secret-key', `C:\\${HERE}`],
  ['new secret-key', 'new secret-key', `{"message":"C:\\${HERE}"}`],
].map(([secret = '', planted = '', template = '']) => inputOf(secret, planted, template));

function inputOf(secret: string, planted: string, template: string): Input {
  return { body: template.replaceAll(HERE, () => planted), secrets: ['another secret', secret], planted };
}

/** Error bodies that repeat a secret in one spelling or another. */
export function errorBodyTarget(read: typeof readErrorBody = readErrorBody): Target {
  return targetOf<Input, ErrorBody>({
    name: 'error body',
    share: 100_000,
    inputs: INPUT,
    examples: EXAMPLES,
    act: ({ body, secrets }) => read(body, secrets),
    judge: complaintAbout,
    shown: (input) => input,
  });
}

function complaintAbout(
  { secrets: [, secret = ''], planted }: Input,
  answer: ErrorBody,
): Complaint | undefined {
  const { serverCode = '', serverMessage = '' } = answer;
  if ([serverCode, serverMessage].some((text) => tells(text, secret, planted)))
    return { fault: 'accepted', reason: `a secret comes out: ${JSON.stringify(answer)}` };
  const isBounded =
    serverCode.length <= 60 && serverMessage.length <= 200 && !/[\p{Cc}]/u.test(serverCode + serverMessage);
  return isBounded ? undefined : { fault: 'wrong', reason: 'no short line' };
}
