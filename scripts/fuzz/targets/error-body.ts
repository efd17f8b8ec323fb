import { readErrorBody, type ErrorBody } from '../../../lib/cloud/http/answer';
import { recordText } from '../inputs/json-text';
import { mutatedOften } from '../inputs/mutation';
import { spelled, tells } from '../inputs/spellings';
import type { Random } from '../random';
import { targetOf, type Complaint, type Target } from '../target';

interface Input {
  body: string;
  secrets: string[];
  /** The secret as it stands in the body. */
  planted: string;
}

const HERE = '\u0001';
/** Where an error names what was sent. */
const BODIES: readonly string[] = [
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
];
/** Beginnings of a secret: some of them a sign before it turns into an escape. */
const STARTS = ['Q', 'Q', 'Q', '7f', 'ab12', 'u00e9', 'n'];
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789-_.!/+= ';

/** Error bodies that repeat a secret in one spelling or another. */
export function errorBodyTarget(read: typeof readErrorBody = readErrorBody): Target {
  return targetOf<Input, ErrorBody>({
    name: 'error body',
    share: 100_000,
    make: inputOf,
    act: ({ body, secrets }) => read(body, secrets),
    judge: complaintAbout,
    shown: (input) => input,
  });
}

function inputOf(random: Random): Input {
  const secret = `${random.pick(STARTS)}${random.text(LETTERS, 14 + random.below(20))}z7`;
  const planted = spelled(random, secret);
  const body = templateOf(random).replaceAll(HERE, () => planted);
  return { body, secrets: ['another secret', secret], planted };
}

/** Changed before the secret is put in: one that was changed is no secret any more. */
function templateOf(random: Random): string {
  const template = random.chance(0.1)
    ? recordText(random, 4).replace('"x"', `"${HERE}"`)
    : random.pick(BODIES);
  const padded = random.chance(0.01)
    ? template.replace(HERE, () => `${'long '.repeat(random.below(1500))} ${HERE}`)
    : template;
  if (random.chance(0.6)) return padded;
  return mutatedOften(random, Buffer.from(padded), 1 + random.below(2)).toString('utf8');
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
