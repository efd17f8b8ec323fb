import {
  parseRange,
  ProtocolError,
  RequestParser,
  type Incoming,
  chooseTransport,
} from '../../../sandbox/rtsp/protocol';
import { mutatedOften } from '../inputs/mutation';
import {
  frameBytes,
  longHeadedText,
  piecesOf,
  playerRequest,
  requestText,
  type PlayerRequest,
} from '../inputs/rtsp-text';
import type { Random } from '../random';
import { targetOf, type Complaint, type Target } from '../target';

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

/** What players send to the RTSP server of the sandbox, in one piece and in several. */
export function rtspRequestTarget(): Target {
  return targetOf<Input, Answer>({
    name: 'RTSP request',
    share: 60_000,
    make: inputOf,
    act: ({ pieces }) => ({ inPieces: heard(pieces), atOnce: heard([Buffer.concat(pieces)]) }),
    judge: complaintAbout,
    shown: ({ pieces }) => ({
      lengths: pieces.map(({ length }) => length).slice(0, 20),
      bytes: Buffer.concat(pieces).toString('latin1'),
    }),
  });
}

function inputOf(random: Random): Input {
  if (random.chance(0.01))
    return { pieces: piecesOf(random, Buffer.from(longHeadedText(random))), requests: undefined };
  const requests = Array.from({ length: 1 + random.below(3) }, () => playerRequest(random));
  const parts = requests.flatMap((request) => {
    const bytes = Buffer.from(requestText(random, request));
    return random.chance(0.3) ? [frameBytes(random), bytes] : [bytes];
  });
  const bytes = Buffer.concat(parts);
  if (random.chance(0.4)) return { pieces: piecesOf(random, bytes), requests };
  return { pieces: piecesOf(random, mutatedOften(random, bytes, 1 + random.below(3))), requests: undefined };
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
