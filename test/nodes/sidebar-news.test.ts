import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { NEWS_TOPIC } from '../../nodes/rvm-sidebar/overview';
import { answered, overviewOf } from '../support/node-red/alarms-through';
import { webhookFlow } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

interface Told {
  topic: string;
  data: unknown;
  /** Milliseconds, steady. */
  at: number;
}

/** An editor without a page: it hears what the runtime tells editors. */
class Listening {
  readonly told: Told[] = [];
  readonly #socket: WebSocket;

  constructor(url: string) {
    this.#socket = new WebSocket(`${url.replace('http', 'ws')}/comms`);
    this.#socket.addEventListener('message', ({ data }) => {
      const messages = JSON.parse(String(data)) as Omit<Told, 'at'>[];
      const at = performance.now();
      this.told.push(...messages.map((message) => ({ ...message, at })));
    });
  }

  get news(): Told[] {
    return this.told.filter(({ topic }) => topic === NEWS_TOPIC);
  }

  async open(): Promise<void> {
    await once(this.#socket, 'open');
    this.#socket.send(JSON.stringify({ subscribe: NEWS_TOPIC }));
  }

  close(): void {
    this.#socket.close();
  }
}

describe('the news of the sidebar', () => {
  let nodeRed: NodeRed;
  let editor: Listening;
  before(async () => {
    nodeRed = await NodeRed.start();
    await nodeRed.deploy(webhookFlow());
    editor = new Listening(nodeRed.url);
    await editor.open();
  });
  after(async () => {
    editor?.close();
    await nodeRed?.stopAndRemove();
  });

  const more = (than: number): Promise<void> => eventually(() => editor.news.length > than, 'news');

  it('does not come while nobody looks at a sidebar', async () => {
    assert.equal(await answered(nodeRed), 200);
    // As long as it takes at most where somebody does.
    await delay(1500);
    assert.deepEqual(editor.news, []);
  });

  it('comes when something has changed since the sidebar has asked, and says no more than that', async () => {
    await overviewOf(nodeRed);
    await more(0);
    const before = editor.news.length;
    assert.equal(await answered(nodeRed), 200);
    await more(before);
    for (const { data } of editor.news) assert.deepEqual(data, {});
  });

  it('comes once a second at most, however much there is, and stops once nothing changes', async () => {
    const from = editor.news.length;
    for (let sent = 0; sent < 40; sent += 1) {
      assert.equal(await answered(nodeRed), 200);
      await delay(50);
    }
    await more(from);
    const rest = async (): Promise<number> => {
      const before = editor.news.length;
      await delay(2500);
      return editor.news.length - before;
    };
    while ((await rest()) > 0);
    const times = editor.news.slice(from).map(({ at }) => at);
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    assert.ok(gaps.length > 0);
    for (const gap of gaps) assert.ok(gap > 900, `${gap} ms`);
  });
});
