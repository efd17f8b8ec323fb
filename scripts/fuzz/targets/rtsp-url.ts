import * as fc from 'fast-check';
import { rtspUrlOf } from '../../../lib/cloud/functions/rtsp';
import { Answer } from '../../../lib/cloud/http/answer';
import { RvmError } from '../../../lib/error';
import { changes, changesIn, mixed, text, recordText } from '../inputs/any';
import { targetOf, type Complaint, type Target } from '../runner';

interface Input {
  body: Buffer;
  status: number;
  location: string | undefined;
  /** What the answer has to yield, where it is as the specification shows it. */
  genuine: string | undefined;
}

const HOST = fc.constantFrom('relay.example', '192.0.2.7', '[2001:db8::7]', 'relay.example:8554');
const ADDRESS = fc
  .tuple(fc.constantFrom('rtsp', 'rtsps', 'RTSP'), HOST, text('abcXYZ0189-._~%20/?&=:+!$,;()*', 0, 59))
  .map(([scheme, host, path]) => `${scheme}://${host}/${path}`);
/** As the specification shows it. */
const GENUINE = ADDRESS.map((url): Input => ({
  body: bodyOf(url),
  status: 200,
  location: undefined,
  genuine: url,
}));
const EXTRA = recordText(3).map((record) =>
  record
    .slice(1, -1)
    .trim()
    .replaceAll(/rtspRelayURL/gi, 'x'),
);
const OTHER = fc
  .tuple(ADDRESS, changes(0, 2), EXTRA, fc.constantFrom(200, 201, 204), changesIn(50, 1), fc.boolean())
  .map(([url, change, extra, status, changeBody, isLocated]): Input => {
    const sent = change(Buffer.from(url)).toString('utf8');
    const location = status === 201 && isLocated ? sent : undefined;
    return { body: changeBody(bodyOf(sent, extra)), status, location, genuine: undefined };
  });

function bodyOf(url: string, extra = ''): Buffer {
  return Buffer.from(`{${extra === '' ? '' : `${extra},`}"rtspRelayURL":${JSON.stringify(url)}}`);
}

const UNSAFE = /[\s"'`<>\\^{|}]|[^\x21-\x7e]/;

/** Answers to `rel/rtsp`, most of them foreign or broken. */
export function rtspUrlTarget(): Target {
  return targetOf<Input, string | RvmError>({
    name: 'RTSP URL',
    share: 110_000,
    inputs: mixed<Input>([3, GENUINE], [7, OTHER]),
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
  const text = [answer.message, serverCode, serverMessage].join(' ');
  const isRepeated = /rtsps?:\/\/[^*\s"'<>`]/i.test(text);
  return isRepeated ? { fault: 'wrong', reason: 'the error repeats the URL' } : undefined;
}
