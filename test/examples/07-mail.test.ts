import { isFixtureStill } from '../support/rtsp/fixture-still';
import assert from 'node:assert/strict';
import { simpleParser, type ParsedMail } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { example, packagesFor } from '../support/examples/examples';
import { SandboxOfExample, withChanges } from '../support/examples/example-sandbox';
import { freePort, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

const TAB = 'rvm-example-07-tab';

/** A mail server without login, which can refuse mails for a while, and go away. */
class MailServer {
  /** Those that were taken. */
  readonly mails: ParsedMail[] = [];
  refused = 0;
  refuses = false;
  #server: SMTPServer | undefined;

  constructor(readonly port: number) {}

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

  pictureMail(text: string): ParsedMail | undefined {
    return this.about(text).find(({ attachments }) => attachments.length > 0);
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
  let nodeRed: NodeRed;
  let sandbox: SandboxOfExample;

  before(async () => {
    server = new MailServer(await freePort());
    await server.start();
    nodeRed = await NodeRed.start({ palette: packagesFor('07'), flows: flow(server.port) });
    sandbox = await SandboxOfExample.of(nodeRed);
  });

  after(async () => {
    await nodeRed?.stopAndRemove();
    await server?.stop();
  });

  /** How many events of an alarm are settled. */
  function settled(alarmId: string): number {
    const ofAlarm = ({ event }: Record<string, unknown>): boolean =>
      (event as { alarmId: string }).alarmId === alarmId;
    return nodeRed.at('settled').filter(ofAlarm).length;
  }

  it('sends one mail of text for a new alarm, and settles it', async () => {
    const { alarmId } = await sandbox.raise({ eventName: 'Fence climbed' });
    await nodeRed.until(() => settled(alarmId) === 1, 'the settlement');
    const mail = server.alarmMail('Fence climbed');
    assert.match(mail?.subject ?? '', /^SANDBOX .*Fence climbed/);
    assert.match(mail?.text ?? '', new RegExp(alarmId));
    assert.match(mail?.text ?? '', /Camera: +SANDBOX /);
    assert.equal(mail?.to?.text, 'alarms@example.com');
    assert.equal(mail?.html, false);
  });

  it('sends the picture of the camera as an answer to that mail: a JPEG of the sandbox', async () => {
    await eventually(() => server.pictureMail('Fence climbed') !== undefined, 'the mail with the picture');
    const picture = server.pictureMail('Fence climbed');
    assert.equal(picture?.inReplyTo, server.alarmMail('Fence climbed')?.messageId);
    const [attachment] = picture?.attachments ?? [];
    assert.equal(attachment?.contentType, 'image/jpeg');
    assert.match(attachment?.filename ?? '', /^SANDBOX.*\.jpg$/);
    assert.equal(attachment?.content.subarray(0, 3).toString('hex'), 'ffd8ff');
    assert.ok(isFixtureStill(attachment?.content ?? Buffer.alloc(0)), 'made of what is recorded');
  });

  it('makes no HTML of a name with markup', async () => {
    const { alarmId } = await sandbox.raise({ eventName: '<img src="http://127.0.0.1:9/x"><b>bold</b>' });
    await nodeRed.until(() => settled(alarmId) === 1, 'the settlement');
    const mail = server.about(alarmId)[0];
    assert.equal(mail?.html, false);
    assert.match(mail?.text ?? '', /‹img src/);
    await eventually(() => server.pictureMail('<img src') !== undefined, 'the mail with the picture');
    assert.equal(server.pictureMail('<img src')?.html, false);
  });

  it('lets the mail with the alarm wait for no picture', async () => {
    await sandbox.fault({ kind: 'latency', relation: 'rel/snapshot', ms: 3000, count: 1 });
    const { alarmId } = await sandbox.raise({ eventName: 'Slow picture' });
    await nodeRed.until(() => settled(alarmId) === 1, 'the settlement');
    assert.equal(server.about('Slow picture').length, 1, 'no picture yet');
    await eventually(() => server.pictureMail('Slow picture') !== undefined, 'the mail with the picture');
  });

  it('sends the mail with the alarm where there is no picture', async () => {
    await sandbox.fault({ kind: 'status', status: 500, relation: 'rel/snapshot' });
    const { alarmId } = await sandbox.raise({ eventName: 'Without picture' });
    await nodeRed.until(() => settled(alarmId) === 1, 'the settlement');
    await nodeRed.message('no picture', ({ event }) => (event as { alarmId: string }).alarmId === alarmId);
    assert.equal(server.about('Without picture').length, 1);
  });

  it('sends no mail for the end of an alarm, and settles it', async () => {
    const { alarmId } = await sandbox.raise({ eventName: 'Short', seconds: 0 });
    await nodeRed.until(() => settled(alarmId) === 2, 'the settlement of both events');
    assert.equal(server.about(alarmId).length, 1);
  });

  it('settles nothing that the mail server refuses: the mail comes with the next delivery', async () => {
    server.refuses = true;
    const { alarmId } = await sandbox.raise({ eventName: 'Refused' });
    await eventually(() => server.refused > 0, 'the refusal');
    await nodeRed.message('mail failed');
    assert.equal(settled(alarmId), 0);
    server.refuses = false;
    await nodeRed.until(() => settled(alarmId) === 1, 'the settlement');
    assert.equal(server.about(alarmId).length, 1);
  });

  it('settles nothing while the mail server is away: the mail comes when it is back', async () => {
    const failures = nodeRed.at('mail failed').length;
    await server.stop();
    const { alarmId } = await sandbox.raise({ eventName: 'Away' });
    await nodeRed.until(() => nodeRed.at('mail failed').length > failures, 'the failure');
    assert.equal(settled(alarmId), 0);
    await server.start();
    await nodeRed.until(() => settled(alarmId) === 1, 'the settlement');
    assert.equal(server.about(alarmId).length, 1);
  });

  it('settles no picture', () => {
    assert.deepEqual(nodeRed.at('not settled'), []);
    const ids = nodeRed
      .at('settled')
      .map((msg) => (msg.webhook as { deliveryId?: string } | undefined)?.deliveryId);
    assert.ok(ids.length > 0 && ids.every((id) => typeof id === 'string'));
    assert.equal(new Set(ids).size, ids.length);
  });
});

/** The example with this server, and probes behind settlement and failures. */
function flow(port: number): FlowNode[] {
  const beside = {
    'rvm-example-07-no-picture': 'no picture',
    'rvm-example-07-failed-debug': 'mail failed',
    'rvm-example-07-not-settled': 'not settled',
  };
  const nodes = withChanges(example('07', beside), {
    'rvm-example-07-mail': { port: String(port) },
    'rvm-example-07-settle': { wires: [['settled'], ['not settled']] },
  });
  return [...nodes, probe('settled', TAB)];
}
