import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DurableInbox } from '../../../lib/inbox/durable-inbox';
import { Store } from '../../../lib/inbox/sqlite/store';
import type { LocalCall, StoreCalls } from '../../../lib/inbox/store/protocol';
import { storeFailed, type StoreNews, type StorePort } from '../../../lib/inbox/store/port';
import type { InboxNews } from '../../../lib/inbox/store-health';

const DAY = 24 * 60 * 60 * 1000;

/** What becomes of a call: `pass` does what was asked. */
export type Hook = (name: LocalCall, pass: () => unknown) => unknown;

export function fail(): never {
  throw storeFailed('the disk is gone');
}

class HookedStore implements StorePort {
  #store: Store;
  hook: Hook = (_name, pass) => pass();

  constructor(
    private readonly file: string,
    private readonly news: StoreNews,
  ) {
    this.#store = new Store({ file, resumed: false });
    queueMicrotask(() => news.onOpened(this.#store.opened));
  }

  /** As after a fault of the disk, or with a thread that follows one that has ended. */
  reopen(): void {
    this.#store.close();
    this.#store = new Store({ file: this.file, resumed: true });
    this.news.onOpened(this.#store.opened);
  }

  async call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    const pass = (): StoreCalls[Name]['give'] => this.#store.transaction(() => this.#store.work[name](take));
    return (await this.hook(name, pass)) as StoreCalls[Name]['give'];
  }

  async close(): Promise<void> {
    this.#store.close();
  }
}

/** An inbox whose folder stays, and whose store does with each call what the test says. */
export class HookedInbox extends DurableInbox {
  readonly #port: HookedStore;

  constructor(
    readonly folder: string,
    hook?: Hook,
    log?: (news: InboxNews) => void,
  ) {
    let port: HookedStore | undefined;
    const file = path.join(folder, 'inbox.sqlite');
    super({
      file,
      spillFolder: path.join(folder, 'spill'),
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      lookAgain: 20,
      spillAfter: 200,
      ...(log && { log }),
      open: (news) => {
        port = new HookedStore(file, news);
        if (hook !== undefined) port.hook = hook;
        return port;
      },
    });
    if (port === undefined) throw new Error('The store was not opened.');
    this.#port = port;
  }

  set hook(hook: Hook) {
    this.#port.hook = hook;
  }

  /** Its store is closed, and opened once more. */
  reopen(): void {
    this.#port.reopen();
  }

  /** What the disk has of its folder is what a kill leaves there, at this moment. */
  image(): string {
    const image = temporaryFolder();
    fs.cpSync(this.folder, image, { recursive: true });
    return image;
  }
}

/** For the tests of one suite: opens inboxes, which end with each test. `folder`: that of an inbox which was killed. */
export function hookedInboxes(): (hook?: Hook, folder?: string) => HookedInbox {
  const inboxes = new Set<HookedInbox>();
  afterEach(async () => {
    for (const inbox of inboxes) {
      inbox.hook = (_name, pass) => pass();
      await inbox.close();
      fs.rmSync(inbox.folder, { recursive: true });
    }
    inboxes.clear();
  });
  return (hook, folder = temporaryFolder()) => {
    const inbox = new HookedInbox(folder, hook);
    inboxes.add(inbox);
    return inbox;
  };
}

export function temporaryFolder(): string {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-hooked-'));
}
