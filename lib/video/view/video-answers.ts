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

/** Milliseconds for which a live picture is reused. */
const LIVE_PICTURE = 2000;

/** What a player requests. */
export type ViewContent = ViewPart | 'picture' | 'clip';

/** A verified right, the viewers of its node, and its video. */
export interface Opened {
  right: ViewRight;
  viewing: ViewerSessions;
  source: ViewSource;
  /** Key of the files made for this right. */
  name: string;
}

export interface ViewAnswersOptions {
  /** Wall clock, in milliseconds. */
  now?: () => number;
  /** Monotonic clock, in milliseconds. */
  monotonic?: () => number;
  /** Makes fragmented MP4 for one viewer. `seconds` is the length to declare: browsers stutter without one. */
  fragments: (stream: MediaStream, seconds: number) => Fragments;
}

/** Answers the requests of players: video stream, picture and finished clip of a right. */
export class ViewAnswers {
  readonly #now: () => number;
  readonly #monotonic: () => number;
  readonly #fragments: ViewAnswersOptions['fragments'];

  constructor({ now = Date.now, monotonic = () => performance.now(), fragments }: ViewAnswersOptions) {
    this.#now = now;
    this.#monotonic = monotonic;
    this.#fragments = fragments;
  }

  /** Answers GET and HEAD. Never rejects: a failure is reported to the viewer as a code, and to the host. */
  async answer(
    req: IncomingMessage,
    res: ServerResponse,
    opened: Opened,
    content: ViewContent,
  ): Promise<void> {
    if (!isAllowed(opened.right, content)) return sendFault(req, res, 'NOT_ALLOWED');
    // A HEAD request opens no video.
    if (req.method === 'HEAD') return send(req, res, { type: 'application/octet-stream', body: '' });
    if (content === 'recorded' || content === 'live') return this.#stream(req, res, opened, content);
    return this.#file(req, res, opened, content);
  }

  async #stream(req: IncomingMessage, res: ServerResponse, opened: Opened, part: ViewPart): Promise<void> {
    const { right, viewing, source } = opened;
    const leave = viewing.acquire();
    if (leave === undefined) return sendFault(req, res, 'VIEWERS');
    const visit = viewing.begin(res, right.expires - this.#now());
    try {
      const stream = await source.open({ kind: part }, visit.signal);
      const fragments = this.#fragments(stream, secondsOf(right, part));
      const answer = new FragmentAnswer(res, fragments, part, this.#monotonic);
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

  /** Live pictures expire: their name changes with time. */
  #nameOf({ right, name }: Opened, kind: 'picture' | 'clip'): string {
    const file = `${name}/${kind}`;
    return right.recorded === undefined ? `${file}/${Math.floor(this.#now() / LIVE_PICTURE)}` : file;
  }
}

function isAllowed({ recorded, live }: ViewRight, content: ViewContent): boolean {
  if (content === 'live') return live;
  return content === 'picture' || recorded !== undefined;
}

/** Live video declares the longest length of a stream. */
function secondsOf({ recorded }: ViewRight, part: ViewPart): number {
  if (part === 'live' || recorded === undefined) return LONGEST_VISIT / 1000;
  return (recorded.to - recorded.from) / 1000;
}

/** An answer in progress is aborted: a regular end would mean that it is complete. */
function fail(req: IncomingMessage, res: ServerResponse, host: ViewHost, error: Error): void {
  const code: ViewFault = error instanceof RvmError ? error.code : 'VIDEO_FAILED';
  if (code !== 'CANCELLED') host.failed?.(error);
  if (res.headersSent) res.destroy();
  else sendFault(req, res, code);
}

/** Converts frames to fragmented MP4. */
export interface Fragments {
  /** Returns the data to send now. */
  add(frame: MediaFrame): Buffer[];
  /** Returns the remaining data at the end. */
  end(): Buffer[];
  /** Media type with codecs; known once there are data to send. */
  readonly mimeType: string;
}

/** Largest number of bytes queued for a slow viewer: some seconds of video. */
const MOST_WAITING = 2 * 1024 * 1024;

/** The answer to one viewer: frames as fragmented MP4, as they arrive. */
class FragmentAnswer {
  /** Since when frames are left out: until a key frame arrives while the queue has capacity. */
  #behindSince: number | undefined;

  /** @param monotonic monotonic clock, in milliseconds */
  constructor(
    private readonly res: ServerResponse,
    private readonly fragments: Fragments,
    private readonly part: ViewPart,
    private readonly monotonic: () => number,
  ) {}

  /**
   * Sends until the stream ends or the viewer leaves; then closes the stream.
   * @param signal ends it at once; the answer is then aborted, because a regular end would mean that it is
   *   complete
   * @throws what the stream throws; RvmError VIDEO_FAILED without any video, CANCELLED where the viewer
   *   reads nothing
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

  /** No frame of a recording is left out: reading pauses instead. Live video continues from a key frame. */
  #isFit(frame: MediaFrame): boolean {
    if (this.part === 'recorded') return true;
    if (this.#isBehind) {
      this.#behindSince ??= this.monotonic();
      if (this.monotonic() - this.#behindSince > LONGEST_STANDSTILL) throw standstill();
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
