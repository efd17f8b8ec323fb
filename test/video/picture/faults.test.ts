import assert from 'node:assert/strict';
import { RvmError, type RvmErrorCode } from '../../../lib/error';
import { isGone, notStarted, Decoder, type DecoderLimits } from '../../../lib/video/picture/decoder';
import { endOfTurn } from '../../support/time/event-loop';
import { eventually } from '../../support/time/patience';
import { FakeFfmpeg } from '../../support/video/fake-ffmpeg';
import { madeFrames } from '../../support/video/made-stream';

/** Ends at nothing but SIGKILL. */
const STUBBORN = `trap '' TERM; echo $$ > "$folder/pid"; while :; do sleep 0.1; done`;
const PATIENT = `echo $$ > "$folder/pid"; exec sleep 600`;
/** As short as a JPEG can be, of 320x180. */
const PICTURE = Buffer.from('ffd8ffc0000b0800b401400101110000ffda0008010100003f00aabbccffd9', 'hex');

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Programs that this process has started and that have not ended. */
function children(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
}

describe('a decoder with an ffmpeg that', function () {
  const fake = new FakeFfmpeg();
  let decoder = new Decoder();
  let cancelling = new AbortController();
  /** Other tests of this process keep a browser, or a Node-RED. */
  let kept: number;

  before(function () {
    if (process.platform === 'win32') this.skip();
    kept = children();
  });
  beforeEach(() => {
    fake.start();
    fake.leave('picture', PICTURE);
    cancelling = new AbortController();
  });
  afterEach(async () => {
    await decoder.close();
    await noneLeft();
    fake.stop();
  });

  /** Node.js lets go of one a little after it has told of its end. */
  const noneLeft = (): Promise<void> => eventually(() => children() <= kept, 'the end of all programs');
  const picture = (frames = madeFrames('0K 1')): ReturnType<Decoder['picture']> =>
    decoder.picture(frames, 1, { signal: cancelling.signal });
  const use = (deeds: string, limits: Partial<DecoderLimits> = {}): void => {
    decoder = new Decoder({ path: fake.write(deeds), limits });
  };
  const fails = async (code: RvmErrorCode, message: RegExp, work = picture()): Promise<void> => {
    await assert.rejects(work, { name: 'RvmError', code, message });
    await noneLeft();
  };
  const pid = async (): Promise<number> => {
    await eventually(() => (fake.left('pid') ?? '').endsWith('\n'), 'the program');
    return Number(fake.left('pid'));
  };

  const broken = /made no picture of the video, which may be damaged/;
  for (const [does, deeds] of Object.entries({
    'ends without a word': 'exit 0',
    'ends with a fault': 'cat > "$folder/input"; echo "rtsp://u:p@10.0.0.1/secret: Invalid data" >&2; exit 1',
    'dies of a signal': 'kill -9 $$',
    'writes garbage': 'cat > "$folder/input"; head -c 100000 /dev/urandom',
    'gives half a picture': 'head -c 20 "$folder/picture"',
    'gives a picture and dies': 'cat "$folder/picture"; kill -9 $$',
    'complains without end': 'head -c 3000000 /dev/zero >&2',
  }))
    it(`${does}, makes no picture`, async () => {
      use(deeds);
      await fails('VIDEO_FAILED', broken);
    });

  it('does not end is made to, also where it takes no notice', async () => {
    use(STUBBORN, { longestMs: 500, graceMs: 50 });
    await fails('VIDEO_FAILED', /had not made the picture after 0.5 seconds/);
  });

  it('left another process behind, with its output, is waited for no longer than others', async () => {
    use('sleep 600 & echo $! > "$folder/pid"', { longestMs: 500, graceMs: 50 });
    try {
      await fails('VIDEO_FAILED', /had not made the picture/);
    } finally {
      process.kill(await pid());
    }
  });

  it('gives more than a picture can have is made to end', async () => {
    use('exec cat /dev/zero', { mostOutput: 100_000 });
    await fails('VIDEO_FAILED', /more than a picture can have/);
  });

  it('reads nothing of a long video, and gives a picture, has given it', async () => {
    use('exec cat "$folder/picture"');
    const frames = madeFrames('0K 1').map((frame) => ({ ...frame, nals: [Buffer.alloc(4_000_000, 1)] }));
    assert.deepEqual(await picture(frames), { jpeg: PICTURE, width: 320, height: 180 });
  });

  it('lacks the decoder is said to', async () => {
    use('echo "Error while opening: Decoder (codec hevc) not found for input stream #0:0" >&2; exit 1');
    await fails('DECODER_MISSING', /cannot decode the video of this camera: install one with decoders/);
  });

  describe('hangs', () => {
    const LATE = new RvmError('TIMEOUT', 'Too late for this message.');
    for (const [what, deeds, reason, code, message] of [
      ['is ended where the signal says so: CANCELLED', PATIENT, undefined, 'CANCELLED', /cancelled/],
      ['and takes no notice of SIGTERM is killed', STUBBORN, undefined, 'CANCELLED', /cancelled/],
      ['is ended with the error that is the reason of the signal', PATIENT, LATE, 'TIMEOUT', /Too late/],
    ] as const)
      it(what, async () => {
        use(deeds, deeds === STUBBORN ? { graceMs: 50 } : {});
        const work = picture();
        const running = await pid();
        cancelling.abort(reason);
        await fails(code, message, work);
        assert.equal(isAlive(running), false);
      });

    it('is ended, and has ended, when the decoder is closed', async () => {
      use(STUBBORN, { graceMs: 50 });
      const work = assert.rejects(picture(), { code: 'CANCELLED' });
      const running = await pid();
      await decoder.close();
      assert.equal(isAlive(running), false);
      await work;
      await fails('CANCELLED', /cancelled/);
    });
  });

  it('is not started where the signal has said so before', async () => {
    use('echo > "$folder/started"');
    cancelling.abort();
    await fails('CANCELLED', /cancelled/);
    assert.equal(fake.left('started'), undefined);
  });

  it('is at work as often as it may be lets the others wait in line', async () => {
    const waits = 'while [ ! -e "$folder/go" ]; do sleep 0.05; done';
    use(`echo begin >> "$folder/log"; ${waits}; echo end >> "$folder/log"`, { atOnce: 2 });
    const log = (): string[] => (fake.left('log') ?? '').split('\n').filter((line) => line !== '');
    const works = Promise.allSettled([picture(), picture(), picture(), picture()]);
    await eventually(() => log().length === 2, 'two at work');
    assert.equal(children(), kept + 2);
    fake.leave('go');
    await works;
    let [now, most] = [0, 0];
    for (const line of log()) {
      now += line === 'begin' ? 1 : -1;
      most = Math.max(most, now);
    }
    assert.deepEqual([log().length, now, most], [8, 0, 2]);
  });

  it('is waited for in line is not started once the signal says so', async () => {
    use('echo begin >> "$folder/log"; echo $$ > "$folder/pid"; exec sleep 600', { atOnce: 1 });
    const first = assert.rejects(picture(), { code: 'CANCELLED' });
    await pid();
    const waiting = new AbortController();
    const second = decoder.picture(madeFrames('0K'), 0, { signal: waiting.signal });
    await endOfTurn();
    waiting.abort();
    await assert.rejects(second, { code: 'CANCELLED' });
    cancelling.abort();
    await first;
    assert.equal(fake.left('log'), 'begin\n');
  });

  it('is not needed where there is nothing to decode', async () => {
    use('exit 0');
    await fails('VIDEO_FAILED', /no key frame/, picture(madeFrames('0 1 2')));
    await fails('VIDEO_FAILED', /no key frame/, picture([]));
  });
});

describe('an ffmpeg that the system does not start', () => {
  const systemError = (code: string): NodeJS.ErrnoException =>
    Object.assign(new Error(`spawn /usr/bin/ffmpeg ${code}`), { code });

  it('is missing where it is not what it was', () => {
    for (const code of ['ENOENT', 'EACCES', 'ENOEXEC']) assert.equal(isGone(systemError(code)), true);
  });

  it('is there all the same where the system is short of something, which is said', () => {
    for (const code of ['EMFILE', 'EAGAIN', 'ENOMEM']) {
      assert.equal(isGone(systemError(code)), false);
      const { code: told, message } = notStarted(systemError(code));
      assert.equal(told, 'VIDEO_FAILED');
      assert.ok(message.includes(`(${code}): this machine may have too little memory`));
    }
  });
});
