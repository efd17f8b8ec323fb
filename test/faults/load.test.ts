import assert from 'node:assert/strict';
import path from 'node:path';
import { alarmMessage, sendUntilAnswered } from '../support/webhook/alarm-message';
import { PATH, PHRASE } from '../support/node-red/flows';
import { NodeRed, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';
import { FileSink, sentFlow } from '../support/webhook/sinks';

const PER_SECOND = 200;

/** A sender that posts new messages at an even pace, and each again until it is answered, as the service does. */
class Load {
  readonly answers = new Set<number | 'cut'>();
  readonly sent: Record<string, unknown>[] = [];
  readonly #posting: Promise<void>[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(url: string) {
    this.#timer = setInterval(() => this.#posting.push(this.#send(url)), 1000 / PER_SECOND);
  }

  /** Resolves when every message is answered. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#posting);
  }

  async #send(url: string): Promise<void> {
    const message = alarmMessage();
    this.sent.push(message);
    for (const answer of await sendUntilAnswered(url, message, PHRASE)) this.answers.add(answer);
  }
}

const BLOCKER: FlowNode = {
  id: 'sink',
  type: 'function',
  z: 'tab',
  func: `const until = Date.now() + 5000;
    if (!context.get('done')) { context.set('done', true); while (Date.now() < until); }
    return msg;`,
  wires: [['file']],
};

describe('alarms in a Node-RED that is busy', () => {
  let nodeRed: NodeRed;
  let sink: FileSink;

  beforeEach(async () => {
    nodeRed = await NodeRed.start();
    sink = new FileSink(path.join(nodeRed.userDir, 'sink'));
  });

  afterEach(() => nodeRed.stopAndRemove());

  const missing = (sent: readonly Record<string, unknown>[]): unknown[] => {
    const there = new Set<unknown>(sink.events().map(({ messageId }) => messageId));
    return sent.map(({ messageId }) => messageId).filter((messageId) => !there.has(messageId));
  };

  /** Deploys again and again while the load sends so many more. */
  async function deployOften(load: Load, more: number): Promise<void> {
    const until = load.sent.length + more;
    do await nodeRed.deploy(sentFlow(sink));
    while (load.sent.length < until);
  }

  it('C-131 loses none while a function node blocks the event loop for 5 s', async () => {
    const flow = sentFlow(sink).filter(({ id }) => id !== 'sink');
    await nodeRed.deploy([...flow, BLOCKER, sink.node('file')]);
    const load = new Load(nodeRed.url + PATH);
    await eventually(() => load.sent.length >= 2 * PER_SECOND, 'two seconds of load');
    await load.end();
    await eventually(() => missing(load.sent).length === 0, 'every event');
    assert.deepEqual(
      [...load.answers].filter((answer) => answer !== 200 && answer !== 'cut'),
      [],
    );
    assert.equal(sink.events().length, load.sent.length);
  });

  it('C-133 loses none of 200 a second over full deploys in a row and a restart between them', async () => {
    await nodeRed.deploy(sentFlow(sink));
    const { userDir, port } = nodeRed;
    const load = new Load(nodeRed.url + PATH);
    await deployOften(load, 1.5 * PER_SECOND);
    await nodeRed.stop();
    nodeRed = await NodeRed.start({ userDir, port });
    await deployOften(load, 1.5 * PER_SECOND);
    await load.end();
    assert.deepEqual(
      [...load.answers].filter((answer) => answer !== 200 && answer !== 'cut'),
      [],
    );
    await eventually(() => missing(load.sent).length === 0, 'every event');
  });
});
