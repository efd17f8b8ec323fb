import { isRecord } from '../json/json';
import type { KeptProblem } from './unseen-problems';

/** Where the text is kept: what cannot be read is none. */
export interface TextPlace {
  read(): Promise<string | undefined>;
  /** In one go. @throws Error of the system */
  write(text: string): Promise<void>;
}

/** By id of the webhook. */
export type ProblemsOfWebhooks = ReadonlyMap<string, readonly KeptProblem[]>;

/** Between two writes, in milliseconds: strangers decide how often something changes. */
const WRITE_EVERY = 1000;

/** The problems of all webhooks, kept from one run to the next: that Node-RED was started again cures none, and shows none to anybody. */
export class KeptProblems {
  /** Resolves with what the last run has left. */
  readonly loaded: Promise<ProblemsOfWebhooks>;
  /** Of the last run, of webhooks that are not there yet. */
  #left: ProblemsOfWebhooks = new Map();
  #work: Promise<unknown>;
  #timer: NodeJS.Timeout | undefined;
  #isWriting = false;
  #isStale = false;

  /** @param present what there is now */
  constructor(
    private readonly place: TextPlace,
    private readonly present: () => ProblemsOfWebhooks,
  ) {
    this.loaded = this.#load();
    this.#work = this.loaded;
  }

  /** Of a webhook that is there now. */
  take(webhookId: string): readonly KeptProblem[] {
    const taken = this.#left.get(webhookId) ?? [];
    this.#left = new Map([...this.#left].filter(([id]) => id !== webhookId));
    return taken;
  }

  /** All webhooks are there: what is left is of some that are gone. */
  dropLeft(): void {
    void this.loaded.then(() => {
      this.#left = new Map();
    });
  }

  /** Something has changed. */
  saveSoon(): void {
    this.#isStale = true;
    if (this.#isWriting) return;
    this.#timer ??= setTimeout(() => void this.save(), WRITE_EVERY).unref();
  }

  /** Resolves when what there is now is kept, or cannot be: that costs the next run what this one knows, and nothing else. */
  save(): Promise<unknown> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#work = this.#work.then(() => this.#write());
    return this.#work;
  }

  async #load(): Promise<ProblemsOfWebhooks> {
    const text = await this.place.read();
    try {
      this.#left = problemsIn(text ?? '{}');
    } catch {
      // Another version has written it.
    }
    return this.#left;
  }

  async #write(): Promise<void> {
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#isWriting = true;
    const all = [...this.#left, ...this.present()].filter(([, problems]) => problems.length > 0);
    await this.place.write(JSON.stringify(Object.fromEntries(all))).catch(() => undefined);
    this.#isWriting = false;
    if (this.#isStale) this.saveSoon();
  }
}

function problemsIn(text: string): ProblemsOfWebhooks {
  const value: unknown = JSON.parse(text);
  const found = new Map<string, KeptProblem[]>();
  if (!isRecord(value)) return found;
  for (const [id, problems] of Object.entries(value)) {
    const list: readonly unknown[] = Array.isArray(problems) ? problems : [];
    found.set(id, list.filter(isKept));
  }
  return found;
}

/** True for what this version writes; that it is a problem nobody else could have put there. */
function isKept(value: unknown): value is KeptProblem {
  if (!isRecord(value)) return false;
  const { kind, reason, count, unseen, lastTime, lastAddress } = value;
  const isTold = typeof kind === 'string' && (reason === null || typeof reason === 'string');
  const isCounted = [count, unseen].every((number) => Number.isSafeInteger(number) && Number(number) >= 0);
  const isFromOne = lastAddress === undefined || typeof lastAddress === 'string';
  return isTold && isCounted && typeof lastTime === 'string' && isFromOne;
}
