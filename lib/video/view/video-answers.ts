import type { IncomingMessage, ServerResponse } from 'node:http';
import { toError, RvmError } from '../../error';
import type { MediaFrame, MediaStream } from '../media';
import {
  begin,
  limitStandstill,
  LONGEST_STANDSTILL,
  send,
  sendFault,
  sendFile,
  type ViewFault,
} from './http';
import type { ViewRight } from './signed-address';
import { LONGEST_VISIT, type ViewHost, type ViewerSessions, type ViewPart, type ViewSource } from './visits';

/** For so long the picture of a camera is that of now. Milliseconds. */
const LIVE_PICTURE = 2000;

/** What a player asks for. */
export type ViewContent = ViewPart | 'picture' | 'clip';

/** A right, where it is used, and what it opens. */
export interface Opened {
  right: ViewRight;
  viewing: ViewerSessions;
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
      fail(req, res, viewing.host, toError(error));
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
      fail(req, res, viewing.host, toError(error));
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

/** Makes fragmented MP4 of frames. */
export interface Fragments {
  /** What is to be sent now. */
  add(frame: MediaFrame): Buffer[];
  /** What is left, where nothing follows. */
  end(): Buffer[];
  /** Media type with the codecs, once there is something to send. */
  readonly mimeType: string;
}

/** Bytes that wait for a slow viewer: some seconds of video. */
const MOST_WAITING = 2 * 1024 * 1024;

/** One viewer's answer: frames as they come, as fragmented MP4. */
class FragmentAnswer {
  /** Since when frames are left out, until the next key frame that the viewer has room for. */
  #behindSince: number | undefined;

  /** @param steady milliseconds of a clock that never jumps */
  constructor(
    private readonly res: ServerResponse,
    private readonly fragments: Fragments,
    private readonly part: ViewPart,
    private readonly steady: () => number,
  ) {}

  /**
   * Sends until the stream ends, or the viewer goes. The stream is closed then.
   * @param signal ends it at once; the answer is then cut, because its end would say that this was all
   * @throws what the stream throws; RvmError VIDEO_FAILED where nothing came, CANCELLED where the viewer takes nothing
   */
  async send(stream: MediaStream, signal: AbortSignal): Promise<void> {
    const close = (): void => void stream.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      if (!signal.aborted) await this.#sendAll(stream, signal);
    } finally {
      signal.removeEventListener('abort', close);
      await stream.close();
    }
    if (signal.aborted) this.res.destroy();
    else if (!this.res.headersSent)
      throw new RvmError('VIDEO_FAILED', 'The relay ended the video before its first picture: try again.');
    else {
      limitStandstill(this.res);
      this.res.end();
    }
  }

  async #sendAll(stream: MediaStream, signal: AbortSignal): Promise<void> {
    for await (const frame of stream) {
      if (signal.aborted) return;
      if (!this.#isFit(frame)) continue;
      this.#write(this.fragments.add(frame));
      if (this.part === 'recorded' && this.#isBehind) await this.#drained();
    }
    if (!signal.aborted) this.#write(this.fragments.end());
  }

  get #isBehind(): boolean {
    return this.res.writableLength > MOST_WAITING;
  }

  /** Of a recording nothing is left out here: the stream is not asked for more. What is live goes on, from a key frame on. */
  #isFit(frame: MediaFrame): boolean {
    if (this.part === 'recorded') return true;
    if (this.#isBehind) {
      this.#behindSince ??= this.steady();
      if (this.steady() - this.#behindSince > LONGEST_STANDSTILL) throw standstill();
    } else if (frame.kind === 'video' && frame.key) this.#behindSince = undefined;
    return this.#behindSince === undefined;
  }

  #write(pieces: readonly Buffer[]): void {
    if (pieces.length === 0 || this.res.destroyed) return;
    if (!this.res.headersSent) {
      begin(this.res, 200, { 'Content-Type': this.fragments.mimeType, 'X-Accel-Buffering': 'no' });
    }
    for (const piece of pieces) this.res.write(piece);
  }

  #drained(): Promise<void> {
    const { res } = this;
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        res.off('drain', onDrain).off('close', onDrain);
        settle();
      };
      const onDrain = (): void => end(resolve);
      const timer = setTimeout(() => end(() => reject(standstill())), LONGEST_STANDSTILL);
      res.on('drain', onDrain).on('close', onDrain);
      if (res.destroyed) onDrain();
    });
  }
}

function standstill(): RvmError {
  return new RvmError('CANCELLED', 'The view was ended, because the viewer took nothing for 20 s.');
}
