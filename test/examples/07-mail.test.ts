import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { simpleParser, type ParsedMail } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { eventOf, ExampleRun, type RunOptions, webhookOf } from '../support/examples/example-run';
import { freePort } from '../support/node-red/node-red';
import { barAt } from '../support/node-red/station-flow';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';
import { numberIn } from '../support/video/encoded-video';
import { complaints, probed } from '../support/video/played-clip';

/** Of the video: a second before the alarm, and two from it on. */
const SECONDS = 3;
const SHORT = { preRoll: 1, seconds: SECONDS - 1 };
const CAMERA = 'SANDBOX Gate 1';
const JPEG = 'image/jpeg';
const MP4 = 'video/mp4';

/** A mail server without login, which can refuse mails for a while, and go away. */
class MailServer {
  /** Those that were taken. */
  readonly mails: ParsedMail[] = [];
  refused = 0;
  refuses = false;
  #server: SMTPServer | undefined;

  constructor(public port: number) {}

  async start(): Promise<void> {
    const server = new SMTPServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      disableReverseLookup: true,
      onData: (stream, _session, done) => {
        simpleParser(stream).then(
          (mail) => this.#take(mail, done),
          (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
        );
      },
    });
    // Of a client that breaks off: the test looks at what has arrived.
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => {
      server.listen(this.port, '127.0.0.1', resolve);
    });
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  }

  /** Mails with these words. */
  about(text: string): ParsedMail[] {
    return this.mails.filter((mail) => mail.text?.includes(text));
  }

  alarmMail(text: string): ParsedMail | undefined {
    return this.about(text).find(({ attachments }) => attachments.length === 0);
  }

  /** With an attachment of this type. */
  mailWith(contentType: string, text: string): ParsedMail | undefined {
    return this.about(text).find(({ attachments }) =>
      attachments.some((attachment) => attachment.contentType === contentType),
    );
  }

  #take(mail: ParsedMail, done: (error?: Error | null) => void): void {
    if (this.refuses) {
      this.refused += 1;
      done(Object.assign(new Error('Not now'), { responseCode: 451 }));
      return;
    }
    this.mails.push(mail);
    done();
  }
}

describe('example 07, an alarm as e-mail', () => {
  let server: MailServer;

  before(async () => {
    server = new MailServer(await freePort());
    await server.start();
  });
  after(() => server?.stop());

  const run = ExampleRun.ofGroup('07', () => options(server.port, SHORT));

  /** How many events of an alarm are settled. */
  const settled = (alarmId: string): number => run.at('settled', { alarmId }).length;
  const settles = (alarmId: string, count = 1): Promise<void> =>
    run.nodeRed.until(() => settled(alarmId) === count, 'the settlement');
  async function mailWith(type: string, text: string): Promise<ParsedMail> {
    await eventually(() => server.mailWith(type, text) !== undefined, `the mail with ${type}`);
    return server.mailWith(type, text) ?? assert.fail();
  }

  it('sends one mail of text for a new alarm, and settles it', async () => {
    const { alarmId } = await run.raise({ camera: CAMERA, eventName: 'Fence climbed' });
    await settles(alarmId);
    const mail = server.alarmMail('Fence climbed');
    assert.match(mail?.subject ?? '', /^SANDBOX .*Fence climbed/);
    assert.match(mail?.text ?? '', new RegExp(alarmId));
    assert.match(mail?.text ?? '', /Camera: +SANDBOX /);
    assert.equal(mail?.to?.text, 'alarms@example.com');
    assert.equal(mail?.html, false);
  });

  it('sends the picture of the alarm as an answer to that mail: a JPEG of the second at which it began', async function () {
    needs(this, 'ffmpeg');
    const mail = await mailWith(JPEG, 'Fence climbed');
    assert.equal(mail.inReplyTo, server.alarmMail('Fence climbed')?.messageId);
    const [attachment] = mail.attachments;
    assert.match(attachment?.filename ?? '', /^SANDBOX.*\.jpg$/);
    const [, began = ''] = /Began: +(\S+)/.exec(server.alarmMail('Fence climbed')?.text ?? '') ?? [];
    assert.equal(await numberIn(attachment?.content ?? Buffer.alloc(0)), barAt(Date.parse(began)));
  });

  it('sends the video of the alarm as an answer to that mail: an MP4 that plays, with its hash', async function () {
    needs(this, 'ffmpeg', 'ffprobe');
    const mail = await mailWith(MP4, 'Fence climbed');
    assert.equal(mail.inReplyTo, server.alarmMail('Fence climbed')?.messageId);
    const [attachment] = mail.attachments;
    assert.match(attachment?.filename ?? '', /^SANDBOX.*\.mp4$/);
    const bytes = attachment?.content ?? Buffer.alloc(0);
    assert.equal(complaints(bytes), '');
    assert.ok(Math.abs(Number(probed(bytes).format.duration) - SECONDS) < 1);
    assert.match(mail.text ?? '', new RegExp(createHash('sha256').update(bytes).digest('hex')));
  });

  it('makes no HTML of a name with markup', async () => {
    const { alarmId } = await run.raise({
      camera: CAMERA,
      eventName: '<img src="http://127.0.0.1:9/x"><b>bold</b>',
    });
    await settles(alarmId);
    const mail = server.about(alarmId)[0];
    assert.equal(mail?.html, false);
    assert.match(mail?.text ?? '', /‹img src/);
    assert.equal((await mailWith(MP4, '<img src')).html, false);
  });

  it('lets the mail with the alarm wait for no video', async () => {
    await run.sandbox.fault({ kind: 'latency', relation: 'rel/rtsp', ms: 3000, count: 2 });
    const { alarmId } = await run.raise({ camera: CAMERA, eventName: 'Slow video' });
    await settles(alarmId);
    assert.equal(server.about('Slow video').length, 1, 'no video yet');
    await mailWith(MP4, 'Slow video');
  });

  it('sends the mail with the alarm where there is no video', async () => {
    const { cameras } = await run.sandbox.state();
    const offline = cameras.find(({ status }) => status !== 'online') ?? assert.fail('all are online');
    const { alarmId } = await run.raise({ camera: offline.name, eventName: 'Without video' });
    await settles(alarmId);
    await run.nodeRed.message('no video', (msg) => eventOf(msg).alarmId === alarmId);
    assert.equal(server.about('Without video').length, 1);
  });

  it('sends no mail for the end of an alarm, and settles it', async () => {
    const { alarmId } = await run.raise({ eventName: 'Short', seconds: 0 });
    await settles(alarmId, 2);
    assert.equal(server.about(alarmId).length, 1);
  });

  it('settles nothing that the mail server refuses: the mail comes with the next delivery', async () => {
    server.refuses = true;
    const { alarmId } = await run.raise({ eventName: 'Refused' });
    await eventually(() => server.refused > 0, 'the refusal');
    await run.nodeRed.message('mail failed');
    assert.equal(settled(alarmId), 0);
    server.refuses = false;
    await settles(alarmId);
    assert.equal(server.about(alarmId).length, 1);
  });

  it('settles nothing while the mail server is away: the mail comes when it is back', async () => {
    const failures = run.nodeRed.at('mail failed').length;
    await server.stop();
    const { alarmId } = await run.raise({ eventName: 'Away' });
    await run.nodeRed.until(() => run.nodeRed.at('mail failed').length > failures, 'the failure');
    assert.equal(settled(alarmId), 0);
    await server.start();
    await settles(alarmId);
    assert.equal(server.about(alarmId).length, 1);
  });

  it('settles no picture and no video', () => {
    assert.deepEqual(run.nodeRed.at('not settled'), []);
    const ids = run.nodeRed.at('settled').map((msg) => webhookOf(msg).deliveryId);
    assert.ok(ids.length > 0 && ids.every((id) => typeof id === 'string'));
    assert.equal(new Set(ids).size, ids.length);
  });
});

for (const [what, clip] of [
  ['as shipped', {}],
  ['with a clip to the end of its alarm', { untilEnd: true }],
] as const)
  describe(`example 07, ${what}`, () => {
    const server = new MailServer(0);

    before(async () => {
      server.port = await freePort();
    });
    after(() => server.stop());

    const run = ExampleRun.ofGroup('07', () => options(server.port, clip));

    it('sends the mail after 1, 5 or 30 s, whatever the video takes, where the mail server was away for 8 s; then comes the end of the alarm', async () => {
      const { alarmId } = await run.raise({ camera: CAMERA, eventName: 'Away', seconds: 12 });
      await run.nodeRed.message('mail failed');
      await delay(8000);
      await server.start();
      const settled = () => run.nodeRed.at('settled').map(eventOf);
      // Within the patience of a test, which is half of a lease.
      await run.nodeRed.until(() => settled().length === 2, 'the settlement of both events');
      assert.deepEqual(
        settled().map((event) => [event['alarmId'], event['eventEndTime'] !== null]),
        [
          [alarmId, false],
          [alarmId, true],
        ],
      );
      assert.ok(server.alarmMail('Away'));
    });
  });

/** The example with this server, and probes behind settlement and failures. */
function options(port: number, clip: Record<string, unknown>): RunOptions {
  return {
    beside: { 'no-picture': 'no video', 'failed-debug': 'mail failed', 'not-settled': 'not settled' },
    behind: { settle: 'settled' },
    changes: { mail: { port: String(port) }, clip },
  };
}
