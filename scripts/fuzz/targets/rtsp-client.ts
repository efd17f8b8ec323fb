import * as fc from 'fast-check';
import { Authentication } from '../../../lib/video/rtsp/authentication';
import { controlUrls, readDescription } from '../../../lib/video/rtsp/sdp';
import { DEFAULT_LIMITS } from '../../../lib/video/rtsp/limits';
import { MessageParser, type Answer, type Incoming } from '../../../lib/video/rtsp/messages';
import {
  lengthOfRange,
  entriesFor,
  rtpInfoIn,
  sessionIn,
  chosenChannels,
} from '../../../lib/video/rtsp/headers';
import { changes, list, mixed } from '../inputs/any';
import { CUT, FROM_RELAY, type Sent } from '../inputs/rtsp-text';
import { targetOf, type Complaint, type Target } from '../runner';

interface Input {
  pieces: Buffer[];
  /** Channels of which packets are expected, so that other bytes are passed over. */
  channels: readonly number[];
  /** What was sent, where nothing of it was changed. */
  sent: Sent[] | undefined;
}

/** What the parser made of bytes, and whether it gave up. */
interface Heard {
  incoming: Incoming[];
  isUnreadable: boolean;
  /** Bytes that it kept, at most. */
  buffered: number;
}

interface Outcome {
  inPieces: Heard;
  atOnce: Heard;
}

const URL = 'rtsp://127.0.0.1/a';
/** A packet is the longest that is kept: longer than a body, or a head. */
const MOST_KEPT = 4 + 0xffff;
const CONTROL = /\p{Cc}/u;

const CHANNELS = fc.oneof(fc.constant([]), list(fc.nat(255), 4));
const INPUT = fc
  .tuple(
    list(FROM_RELAY, 1, 4),
    CUT,
    mixed([3, fc.constant(undefined)], [7, fc.tuple(CHANNELS, changes(1, 3))]),
  )
  .map(([written, cut, changed]): Input => {
    const whole = Buffer.concat(written.map(({ bytes }) => bytes));
    if (changed === undefined)
      return { pieces: cut(whole), channels: [], sent: written.map(({ sent }) => sent) };
    const [channels, change] = changed;
    return { pieces: cut(change(whole)), channels, sent: undefined };
  });

/** What relays send to our client, in one piece and in several. */
export function rtspClientTarget(): Target {
  return targetOf<Input, Outcome>({
    name: 'RTSP client',
    share: 30_000,
    inputs: INPUT,
    act: ({ pieces, channels }) => ({
      inPieces: heard(pieces, channels),
      atOnce: heard([Buffer.concat(pieces)], channels),
    }),
    judge: complaintAbout,
    shown: ({ pieces }) => Buffer.concat(pieces),
  });
}

function heard(pieces: readonly Buffer[], channels: readonly number[]): Heard {
  const parser = new MessageParser(DEFAULT_LIMITS);
  parser.expect(channels);
  const incoming: Incoming[] = [];
  let buffered = 0;
  for (const piece of pieces) {
    const lent = Buffer.from(piece);
    incoming.push(...parser.push(lent).map(copied));
    // As a socket does with the next read.
    lent.fill(0);
    buffered = Math.max(buffered, parser.bufferedBytes);
  }
  for (const each of incoming) if (each.kind === 'answer') read(each);
  return { incoming, isUnreadable: parser.isUnreadable, buffered };
}

function copied(each: Incoming): Incoming {
  return each.kind === 'packet' ? { ...each, data: Buffer.from(each.data) } : each;
}

/** All that the client reads of an answer. @throws Error where it would send a line of the relay's making */
function read({ headers, body }: Answer): void {
  const { media, control } = readDescription(body, DEFAULT_LIMITS.media);
  const urls = controlUrls({
    url: URL,
    contentBase: headers.get('content-base'),
    contentLocation: headers.get('content-location'),
    control,
  });
  const requested = [urls.all, ...media.map((each) => urls.of(each.control))];
  entriesFor(requested, rtpInfoIn(headers.all('rtp-info').join(',')));
  chosenChannels(headers.get('transport'), { rtp: 0, rtcp: 1 });
  lengthOfRange(headers.get('range'));
  const authentication = new Authentication({ username: 'u', password: 'p' });
  authentication.takes(headers.all('www-authenticate'));
  const sent = [
    ...requested,
    sessionIn(headers.get('session'))?.id,
    authentication.authorization('PLAY', URL),
  ];
  for (const text of sent) if (text !== undefined && CONTROL.test(text)) throw new Error('a forged line');
}

function complaintAbout({ sent }: Input, { inPieces, atOnce }: Outcome): Complaint | undefined {
  if (inPieces.buffered > MOST_KEPT) return { fault: 'wrong', reason: `${inPieces.buffered} bytes are kept` };
  if (inPieces.isUnreadable !== atOnce.isUnreadable || textOf(inPieces.incoming) !== textOf(atOnce.incoming))
    return { fault: 'wrong', reason: 'the pieces say something else than the whole' };
  if (sent === undefined) return undefined;
  if (atOnce.isUnreadable) return { fault: 'rejected', reason: 'a good stream' };
  const isSame = JSON.stringify(atOnce.incoming.map(partsOf)) === JSON.stringify(sent.map(partsOf));
  return isSame ? undefined : { fault: 'wrong', reason: 'something else than was sent' };
}

function textOf(incoming: readonly Incoming[]): string {
  return JSON.stringify(
    incoming.map((each) => [partsOf(each), each.kind === 'packet' || each.headers.all('session')]),
  );
}

function partsOf(each: Incoming | Sent): unknown[] {
  if (each.kind === 'packet') return [each.channel, each.data.toString('hex')];
  return each.kind === 'answer' ? [each.status, each.body] : [each.method];
}
