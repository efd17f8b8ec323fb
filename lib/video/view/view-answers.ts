import type { IncomingMessage, ServerResponse } from 'node:http';
import { RvmError, asError } from '../../error';
import type { MediaStream } from '../media';
import { send, sendFault, sendFile, type ViewFault } from './answer';
import { FragmentAnswer, type Fragments } from './fragment-answer';
import type { ViewRight } from './right';
import type { ViewHost, ViewPart, ViewSource } from './view-source';
import { LONGEST_VISIT, type Viewing } from './viewing';

/** For so long the picture of a camera is that of now. Milliseconds. */
const LIVE_PICTURE = 2000;

/** What a player asks for. */
export type ViewContent = ViewPart | 'picture' | 'clip';

/** A right, where it is used, and what it opens. */
export interface Opened {
  right: ViewRight;
  viewing: Viewing;
  source: ViewSource;
  /** Tells what is made for this right from what is made for others. */
  name: string;
}

export interface ViewAnswersOptions {
  /** Wall clock, in milliseconds. */
  now?: () => number;
  /** Milliseconds of a clock that never jumps. */
  steady?: () => number;
  /** Makes fragmented MP4 for one viewer. It tells the length, in seconds: browsers stutter with what seems to have none. */
  fragments: (stream: MediaStream, seconds: number) => Fragments;
}

/** What players get of a right: its video as it comes, its picture, its finished clip. */
export class ViewAnswers {
  readonly #now: () => number;
  readonly #steady: () => number;
  readonly #fragments: ViewAnswersOptions['fragments'];

  constructor({ now = Date.now, steady = () => performance.now(), fragments }: ViewAnswersOptions) {
    this.#now = now;
    this.#steady = steady;
    this.#fragments = fragments;
  }

  /** Answers GET and HEAD. Never rejects: what fails is told to the viewer as a code, and to the host. */
  async answer(
    req: IncomingMessage,
    res: ServerResponse,
    opened: Opened,
    content: ViewContent,
  ): Promise<void> {
    if (!isAllowed(opened.right, content)) return sendFault(req, res, 'NOT_ALLOWED');
    // Whoever wants the head alone opens no video for that.
    if (req.method === 'HEAD') return send(req, res, { type: 'application/octet-stream', body: '' });
    if (content === 'recorded' || content === 'live') return this.#stream(req, res, opened, content);
    return this.#file(req, res, opened, content);
  }

  async #stream(req: IncomingMessage, res: ServerResponse, opened: Opened, part: ViewPart): Promise<void> {
    const { right, viewing, source } = opened;
    const leave = viewing.takePlace();
    if (leave === undefined) return sendFault(req, res, 'VIEWERS');
    const visit = viewing.begin(res, right.expires - this.#now());
    try {
      const stream = await source.open({ kind: part }, visit.signal);
      const fragments = this.#fragments(stream, secondsOf(right, part));
      const answer = new FragmentAnswer(res, fragments, part, this.#steady);
      await answer.send(stream, visit.signal);
    } catch (error) {
      fail(req, res, viewing.host, asError(error));
    } finally {
      visit.end();
      leave();
    }
  }

  async #file(
    req: IncomingMessage,
    res: ServerResponse,
    opened: Opened,
    kind: 'picture' | 'clip',
  ): Promise<void> {
    const { right, viewing, source } = opened;
    const name = this.#nameOf(opened, kind);
    if (!viewing.files.has(name) && viewing.isMakingMost) return sendFault(req, res, 'VIEWERS');
    const visit = viewing.begin(res, right.expires - this.#now());
    const make = (signal: AbortSignal): Promise<Buffer> => viewing.make(() => source[kind](signal));
    try {
      const file = await viewing.files.get(name, make, visit.signal);
      sendFile(req, res, kind === 'clip' ? 'video/mp4' : 'image/jpeg', file);
    } catch (error) {
      fail(req, res, viewing.host, asError(error));
    } finally {
      visit.end();
    }
  }

  /** A picture of now is soon another one. */
  #nameOf({ right, name }: Opened, kind: 'picture' | 'clip'): string {
    const file = `${name}/${kind}`;
    return right.recorded === undefined ? `${file}/${Math.floor(this.#now() / LIVE_PICTURE)}` : file;
  }
}

function isAllowed({ recorded, live }: ViewRight, content: ViewContent): boolean {
  if (content === 'live') return live;
  return content === 'picture' || recorded !== undefined;
}

/** What is live gets the length that it has at most. */
function secondsOf({ recorded }: ViewRight, part: ViewPart): number {
  if (part === 'live' || recorded === undefined) return LONGEST_VISIT / 1000;
  return (recorded.to - recorded.from) / 1000;
}

/** What has begun is cut: an end would say that this was all. */
function fail(req: IncomingMessage, res: ServerResponse, host: ViewHost, error: Error): void {
  const code: ViewFault = error instanceof RvmError ? error.code : 'VIDEO_FAILED';
  if (code !== 'CANCELLED') host.failed?.(error);
  if (res.headersSent) res.destroy();
  else sendFault(req, res, code);
}
