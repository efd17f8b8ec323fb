import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DurableInbox, type SharedInboxOptions } from '../../../lib/inbox/durable-inbox';
import { Store } from '../../../lib/inbox/sqlite/store';
import {
  storeFailed,
  type SharedStore,
  type SharedStoreEvents,
  type SharedCall,
  type StoreCalls,
  type StoredMessage,
} from '../../../lib/inbox/store/port';
import { PATIENCE } from '../time/patience';

const DAY = 24 * 60 * 60 * 1000;

type Take<Name extends SharedCall> = StoreCalls[Name]['take'];
type Give<Name extends SharedCall> = StoreCalls[Name]['give'];
type Own = { [Name in SharedCall]?: (take: Take<Name>) => Give<Name> };

/** What several instances share, in the process of the test: a SQLite file, and who holds what of it. */
export class SharedFile {
  readonly #folder = fs.mkdtempSync(
    path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'rvm-shared-'),
  );
  readonly store = new Store({ file: path.join(this.#folder, 'inbox.sqlite'), resumed: false });
  readonly #holders = new Map<string, InstanceStore>();
  readonly instances: InstanceStore[] = [];

  /** An inbox of one instance, and its store, which does what the test says. */
  instance(options: Partial<SharedInboxOptions> = {}): { inbox: DurableInbox; store: InstanceStore } {
    let store: InstanceStore | undefined;
    const inbox = new DurableInbox({
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      timeoutMs: PATIENCE,
      lookAgain: 10,
      share: (news) => (store = new InstanceStore(this, news)),
      ...options,
    });
    if (store === undefined) throw new Error('The store was not opened.');
    this.instances.push(store);
    return { inbox, store };
  }

  close(): void {
    this.store.close();
    fs.rmSync(this.#folder, { recursive: true });
  }

  holderOf(deliveryId: string): InstanceStore | undefined {
    return this.#holders.get(deliveryId);
  }

  hold(deliveryId: string, holder: InstanceStore): void {
    this.#holders.set(deliveryId, holder);
  }

  letGo(deliveryId: string): void {
    this.#holders.delete(deliveryId);
  }

  heldBy(holder: InstanceStore): string[] {
    return [...this.#holders].flatMap(([deliveryId, each]) => (each === holder ? deliveryId : []));
  }

  /** What waits, or is leased. */
  open(): StoredMessage[] {
    return this.store.transaction(() => this.store.work.list({ state: 'open', limit: 10_000 }));
  }

  /** By endpoint: events that wait. */
  waiting(): Record<string, number> {
    const waiting: Record<string, number> = {};
    for (const { endpoint, state } of this.open())
      if (state === 'received') waiting[endpoint] = (waiting[endpoint] ?? 0) + 1;
    return waiting;
  }

  /** One has put something where others may have it. */
  stir(by: InstanceStore, endpoint?: string): void {
    for (const each of this.instances) if (each !== by) queueMicrotask(() => each.news.onStirred(endpoint));
  }

  /** One is taken for dead by the others: what it holds waits again, and may be leased by them. */
  reap(dead: InstanceStore): void {
    const cutOff = this.heldBy(dead);
    this.store.transaction(() => this.store.work.giveBack({ unsent: [], cutOff }));
    for (const deliveryId of cutOff) this.letGo(deliveryId);
    dead.wasReaped();
    this.stir(dead);
  }
}

/** The file as one instance sees it. */
export class InstanceStore implements SharedStore {
  readonly epoch = randomUUID();
  /** What it was asked, in order. */
  readonly questions: SharedCall[] = [];
  /** False = this instance might be taken for dead by others. */
  #isAlive = true;
  /** True from the moment on at which others took it for dead until it finds that out. */
  #isReaped = false;
  /** True = it fails whatever is asked of it. */
  fails = false;
  takesPart = false;
  #isSilent = false;
  #late: (() => void)[] = [];
  readonly #calls: Own;

  constructor(
    private readonly file: SharedFile,
    readonly news: SharedStoreEvents,
  ) {
    this.#calls = { ...file.store.work, ...this.#ownCalls() };
    queueMicrotask(() => this.news.onOpened({ waiting: file.waiting(), restored: false }));
  }

  isLeaseSafe(): boolean {
    return this.#isAlive;
  }

  takePart(): void {
    this.takesPart = true;
  }

  async standAside(): Promise<void> {
    this.takesPart = false;
  }

  /** No beat is answered any more. */
  stall(): void {
    this.#isAlive = false;
  }

  /** Beats are answered again. */
  wake(): void {
    this.#isAlive = true;
    this.news.onLeaseSafe();
  }

  /** Others take it for dead: it may lease nothing until it begins anew. */
  wasReaped(): void {
    this.#isReaped = true;
  }

  /** A beat tells that. */
  findOut(): void {
    if (!this.#isReaped) return;
    this.#isReaped = false;
    this.news.onEpochLost();
  }

  /** From now on what it is asked is done at once and answered later; `answer` ends that. */
  fallSilent(): void {
    this.#isSilent = true;
  }

  answer(): void {
    this.#isSilent = false;
    for (const answer of this.#late.splice(0)) answer();
  }

  async call<Name extends SharedCall>(name: Name, take: Take<Name>): Promise<Give<Name>> {
    this.questions.push(name);
    if (this.fails) throw storeFailed('the database is gone');
    const give = this.file.store.transaction(() => this.#act(name, take));
    if (this.#isSilent) await new Promise<void>((resolve) => this.#late.push(resolve));
    return give;
  }

  #act<Name extends SharedCall>(name: Name, take: Take<Name>): Give<Name> {
    const act: Own[Name] = this.#calls[name];
    if (act === undefined) throw new Error(`nobody should ask for ${name}`);
    return act(take);
  }

  async close(): Promise<void> {
    this.file.reap(this);
  }

  /** What is not the same for all instances. */
  #ownCalls(): Own {
    const { file } = this;
    const { work } = file.store;
    const isOwn = (deliveryId: string): boolean => file.holderOf(deliveryId) === this;
    return {
      accept: (take) => {
        const accepted = work.accept(this.#isReaped ? { ...take, lease: 'no' } : take);
        if (accepted.leased) file.hold(accepted.deliveryId, this);
        else file.stir(this, take.message.endpoint);
        return accepted;
      },
      lease: (take) => {
        const events = this.#isReaped ? [] : work.lease(take);
        for (const { deliveryId } of events) file.hold(deliveryId, this);
        return events;
      },
      giveBack: ({ unsent, cutOff }) => {
        const back = { unsent: unsent.filter(isOwn), cutOff: cutOff.filter(isOwn) };
        for (const deliveryId of [...back.unsent, ...back.cutOff]) file.letGo(deliveryId);
        file.stir(this);
        return work.giveBack(back);
      },
      leased: (endpoint) => work.leased(endpoint).filter(isOwn),
      lapse: (take) => (isOwn(take.deliveryId) ? work.lapse(take) : undefined),
      again: (deliveryId) => (isOwn(deliveryId) ? work.again(deliveryId) : undefined),
      markDelivered: (deliveryIds) => {
        work.markDelivered(deliveryIds);
        for (const deliveryId of deliveryIds) {
          this.#tell(deliveryId, 'settled');
          file.letGo(deliveryId);
        }
      },
      finish: (take) => {
        this.#tell(take.deliveryId, 'settled');
        file.letGo(take.deliveryId);
        return work.finish(take);
      },
      tellHolder: ({ deliveryId, wish }) => this.#tell(deliveryId, wish),
      instances: () =>
        file.instances.map((each) => ({
          epoch: each.epoch,
          name: 'instance',
          sinceBeat: 0,
          held: file.heldBy(each).length,
          isSelf: each === this,
        })),
    };
  }

  #tell(deliveryId: string, wish: 'settled' | 'retry' | 'extend'): boolean {
    const holder = this.file.holderOf(deliveryId);
    if (holder === undefined || holder === this) return false;
    queueMicrotask(() => holder.news.onWish(deliveryId, wish));
    return true;
  }
}
