import { rtspUrlOf } from '../../../lib/cloud/functions/rtsp';
import { Answer } from '../../../lib/cloud/http/answer';
import { RvmError } from '../../../lib/error';
import { recordText } from '../inputs/json-text';
import { mutated, mutatedOften } from '../inputs/mutation';
import type { Random } from '../random';
import { targetOf, type Complaint, type Target } from '../target';

interface Input {
  body: Buffer;
  status: number;
  location: string | undefined;
  /** What the answer has to yield, where it is as the specification shows it. */
  genuine: string | undefined;
}

const URL_LETTERS = 'abcXYZ0189-._~%20/?&=:@+!$,;()*';
const UNSAFE = /[\s"'`<>\\^{|}]|[^\x21-\x7e]/;

/** Answers to `rel/rtsp`, most of them foreign or broken. */
export function rtspUrlTarget(): Target {
  return targetOf<Input, string | RvmError>({
    name: 'RTSP URL',
    share: 110_000,
    make: inputOf,
    act: (input) => {
      try {
        return rtspUrlOf(answerOf(input)).url;
      } catch (error) {
        if (error instanceof RvmError) return error;
        throw error;
      }
    },
    judge: complaintAbout,
    shown: ({ body, status, location }) => ({ status, location, body: body.toString('base64') }),
  });
}

function inputOf(random: Random): Input {
  const host = random.pick(['relay.example', '192.0.2.7', '[2001:db8::7]', 'relay.example:8554']);
  const path = random.text(URL_LETTERS, random.below(60)).replaceAll('@', '');
  const url = `${random.pick(['rtsp', 'rtsps', 'RTSP'])}://${host}/${path}`;
  const isGenuine = random.chance(0.3);
  const sent = isGenuine ? url : mutatedOften(random, Buffer.from(url), random.below(3)).toString('utf8');
  const extra = recordText(random, 3)
    .slice(1, -1)
    .trim()
    .replaceAll(/rtspRelayURL/gi, 'x');
  const text = `{${extra === '' || isGenuine ? '' : `${extra},`}"rtspRelayURL":${JSON.stringify(sent)}}`;
  const body = Buffer.from(text);
  const status = isGenuine ? 200 : random.pick([200, 201, 204]);
  return {
    body: isGenuine || random.chance(0.5) ? body : mutated(random, body),
    status,
    location: status === 201 && random.chance(0.5) ? sent : undefined,
    genuine: isGenuine ? url : undefined,
  };
}

function answerOf({ body, status, location }: Input): Answer {
  return new Answer({
    status,
    url: new URL('https://service.example/rtsp'),
    relation: 'rel/rtsp',
    headers: location === undefined ? {} : { location },
    body,
    attempt: 1,
    secrets: () => [],
    quotesNothing: false,
  });
}

function complaintAbout({ genuine }: Input, answer: string | RvmError): Complaint | undefined {
  if (typeof answer === 'string') {
    if (UNSAFE.test(answer) || !/^rtsps?:\/\/[^/]/i.test(answer))
      return { fault: 'accepted', reason: answer };
    if (genuine !== undefined && answer !== genuine) return { fault: 'wrong', reason: answer };
    return undefined;
  }
  if (genuine !== undefined) return { fault: 'rejected', reason: answer.message };
  const { serverCode = '', serverMessage = '' } = answer.cause;
  const told = [answer.message, serverCode, serverMessage].join(' ');
  const isTold = /rtsps?:\/\/[^*\s"'<>`]/i.test(told);
  return isTold ? { fault: 'wrong', reason: 'the error repeats the URL' } : undefined;
}
