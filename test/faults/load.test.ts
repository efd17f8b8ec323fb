import assert from 'node:assert/strict';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { alarmMessage, answerTo } from '../support/alarm-message';
import { PATH, PHRASE } from '../support/flows';
import { NodeRed, type FlowNode } from '../support/node-red';
import { eventually } from '../support/patience';
import { FileSink, sentFlow } from '../support/sinks';

const PER_SECOND = 200;
/** Between two posts of a message that had no answer, in milliseconds. */
const AGAIN = 250;

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
    for (;;) {
      const answer = await answerTo(url, message, PHRASE);
      this.answers.add(answer);
      if (answer !== 'cut') return;
      await delay(AGAIN);
    }
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

  async function deployOften(): Promise<void> {
    const until = performance.now() + 2000;
    while (performance.now() < until) await nodeRed.deploy(sentFlow(sink));
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
    await deployOften();
    await nodeRed.stop();
    nodeRed = await NodeRed.start({ userDir, port });
    await deployOften();
    await load.end();
    assert.deepEqual(
      [...load.answers].filter((answer) => answer !== 200 && answer !== 'cut'),
      [],
    );
    await eventually(() => missing(load.sent).length === 0, 'every event');
    assert.ok(load.sent.length > 2 * PER_SECOND, `${load.sent.length} messages`);
  });
});
