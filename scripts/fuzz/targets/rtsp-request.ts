import * as fc from 'fast-check';
import {
  parseRange,
  ProtocolError,
  RequestParser,
  type Incoming,
  chooseTransport,
} from '../../../sandbox/rtsp/protocol';
import { changes, list, mixed } from '../inputs/any';
import { CUT, FRAME, LONG_HEADED, longHeaded, PLAYER_REQUEST, type PlayerRequest } from '../inputs/rtsp-text';
import { targetOf, type Complaint, type Target } from '../runner';

interface Input {
  pieces: Buffer[];
  /** What was sent, where nothing of it was changed. */
  requests: PlayerRequest[] | undefined;
}

/** What a parser made of bytes: what was complete before it refused, and how it did. */
interface Heard {
  incoming: Incoming[];
  status: 400 | 413 | undefined;
}

interface Answer {
  inPieces: Heard;
  atOnce: Heard;
}

const SENT = list(fc.tuple(PLAYER_REQUEST, mixed([7, fc.constant(undefined)], [3, FRAME])), 1, 3);
const INPUT = mixed<Input>(
  [1, fc.tuple(LONG_HEADED, CUT).map(([bytes, cut]) => ({ pieces: cut(bytes), requests: undefined }))],
  [
    99,
    fc.tuple(SENT, CUT, mixed([4, fc.constant(undefined)], [6, changes(1, 3)])).map(([all, cut, change]) => {
      const whole = Buffer.concat(all.flatMap(([{ bytes }, frame]) => (frame ? [frame, bytes] : [bytes])));
      const requests = change === undefined ? all.map(([{ sent }]) => sent) : undefined;
      return { pieces: cut(change === undefined ? whole : change(whole)), requests };
    }),
  ],
);

/** A head of the greatest length, and of one byte more, cut before each of its last bytes. */
const EXAMPLES = [16_384, 16_385].flatMap((length) =>
  [1, 2, 3, 4, 5].map((last): Input => {
    const bytes = longHeaded(length);
    return { pieces: [bytes.subarray(0, -last), bytes.subarray(-last)], requests: undefined };
  }),
);

/** What players send to the RTSP server of the sandbox, in one piece and in several. */
export function rtspRequestTarget(): Target {
  return targetOf<Input, Answer>({
    name: 'RTSP request',
    share: 60_000,
    inputs: INPUT,
    examples: EXAMPLES,
    act: ({ pieces }) => ({ inPieces: heard(pieces), atOnce: heard([Buffer.concat(pieces)]) }),
    judge: complaintAbout,
    shown: ({ pieces }) => ({
      lengths: pieces.map(({ length }) => length).slice(0, 20),
      bytes: Buffer.concat(pieces).toString('latin1'),
    }),
  });
}

function heard(pieces: readonly Buffer[]): Heard {
  const parser = new RequestParser();
  const incoming: Incoming[] = [];
  try {
    for (const piece of pieces) incoming.push(...parser.push(piece));
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return { incoming, status: error.status };
  }
  for (const each of incoming) if (each.kind === 'request') readHeaders(each.headers);
  return { incoming, status: undefined };
}

function readHeaders(headers: ReadonlyMap<string, string>): void {
  parseRange(headers.get('range') ?? '');
  chooseTransport(headers.get('transport') ?? '', ['tcp', 'udp']);
}

function complaintAbout({ requests }: Input, { inPieces, atOnce }: Answer): Complaint | undefined {
  if (inPieces.status !== atOnce.status)
    return { fault: 'wrong', reason: `${inPieces.status} in pieces, ${atOnce.status} at once` };
  // What is complete before a fault comes out only where the fault is in a later piece.
  if (inPieces.status === undefined && textOf(inPieces.incoming) !== textOf(atOnce.incoming))
    return { fault: 'wrong', reason: 'the pieces say something else than the whole' };
  if (requests === undefined) return undefined;
  if (atOnce.status !== undefined) return { fault: 'rejected', reason: String(atOnce.status) };
  const found = atOnce.incoming.filter((each) => each.kind === 'request');
  const isSame = textOf(found) === JSON.stringify(requests.map(textOfSent));
  return isSame ? undefined : { fault: 'wrong', reason: 'other requests than were sent' };
}

function textOf(incoming: readonly Incoming[]): string {
  return JSON.stringify(
    incoming.map((each) => {
      if (each.kind === 'interleaved') return each;
      const { method, uri, headers, body } = each;
      return [method, uri, [...headers], body.toString('latin1')];
    }),
  );
}

function textOfSent({ method, uri, headers, body }: PlayerRequest): unknown[] {
  return [method, uri, headers, body];
}
