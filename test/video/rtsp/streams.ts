import assert from 'node:assert/strict';
import { RvmError, type RvmErrorCode } from '../../../lib/error';
import type { MediaFrame, MediaStream, RelayStream, VideoFrame } from '../../../lib/video/media';
import { openStream, type StreamOptions } from '../../../lib/video/rtsp/open-stream';
import { PictureSource, ScriptedRelay, type Script } from '../../support/rtsp/scripted-relay';

/** Relays on this machine are allowed. */
export const LOCAL = { suffixes: [], localAllowed: true };

/** Opens streams for the tests of the group in which it is made, and closes what is still open behind each. */
export class Streams {
  readonly #open: RelayStream[] = [];

  constructor() {
    afterEach(() => this.close());
  }

  async open(url: string, options: Partial<StreamOptions> = {}): Promise<RelayStream> {
    const { signal } = new AbortController();
    const stream = await openStream({ url, relays: LOCAL, signal, ...options });
    this.#open.push(stream);
    return stream;
  }

  /** The error that opening fails with: it must have this code, and nothing of the URL in it. */
  async refusal(url: string, code: RvmErrorCode, options: Partial<StreamOptions> = {}): Promise<RvmError> {
    return errorOf(this.open(url, options), code, url);
  }

  async close(): Promise<void> {
    for (const stream of this.#open.splice(0)) await stream.close();
  }
}

/** A relay whose answers a test writes, and what is played of it; for the tests of the group in which it is made. */
export class PlayedRelay extends Streams {
  #relay: ScriptedRelay | undefined;
  #source: PictureSource | undefined;

  constructor() {
    super();
    beforeEach(() => this.reload());
  }

  get relay(): ScriptedRelay {
    return this.#relay ?? assert.fail('no relay was started');
  }

  get source(): PictureSource {
    return this.#source ?? assert.fail('nothing was loaded');
  }

  /** Pictures begin anew. */
  async reload(channel = 0): Promise<void> {
    this.#source = await PictureSource.load(channel);
  }

  async start(script: Script = {}): Promise<ScriptedRelay> {
    await this.#relay?.close();
    this.#relay = await ScriptedRelay.start(script);
    return this.#relay;
  }

  /** A stream of a relay with these answers. */
  async play(script: Script = {}, options: Partial<StreamOptions> = {}): Promise<RelayStream> {
    return this.open((await this.start(script)).url, options);
  }

  send(...bytes: (string | Buffer)[]): void {
    this.relay.send(Buffer.concat(bytes.map((each) => Buffer.from(each))));
  }

  /** Closes the connections from the side of the relay. */
  hangUp(): void {
    for (const socket of this.relay.open) socket.end();
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#relay?.close();
    this.#relay = undefined;
  }
}

/** The first frames; fewer where the stream ends before. Leaves it open. */
export async function take(stream: MediaStream, count: number): Promise<MediaFrame[]> {
  const frames: MediaFrame[] = [];
  const iterator = stream[Symbol.asyncIterator]();
  while (frames.length < count) {
    const next = await iterator.next();
    if (next.done === true) break;
    frames.push(next.value);
  }
  return frames;
}

export async function takePictures(stream: MediaStream, count: number): Promise<VideoFrame[]> {
  return (await take(stream, count)).filter((frame) => frame.kind === 'video');
}

/** All frames until the stream fails, and the error that it fails with. */
export async function takeUntilFailure(
  stream: MediaStream,
  code: RvmErrorCode,
): Promise<{ frames: MediaFrame[]; error: RvmError }> {
  const frames: MediaFrame[] = [];
  const all = async (): Promise<void> => {
    for await (const frame of stream) frames.push(frame);
  };
  const error = await errorOf(all(), code);
  return { frames, error };
}

export async function errorOf(work: Promise<unknown>, code: RvmErrorCode, url = 'rtsp:'): Promise<RvmError> {
  const error: unknown = await work.then(
    () => assert.fail(`it did not fail with ${code}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RvmError, String(error));
  assert.equal(error.code, code, error.message);
  assertTellsNothing(error, url);
  return error;
}

/** Neither the host nor a part of path, query or login that could be a secret. */
function assertTellsNothing({ message }: RvmError, url: string): void {
  assert.doesNotMatch(message, /rtsps?:\/\/\w|127\.0\.0\.1|localhost/);
  for (const part of url.split(/[/?&=@:]+/).filter((text) => text.length > 5))
    assert.ok(!message.includes(part));
}
