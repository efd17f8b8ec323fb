import { matchingPath } from './endpoint';

/**
 * Most paths stored. Beyond this number a path of a sender with many is dropped first, then the one with the fewest posts, then
 * the oldest.
 */
const MOST = 20;
/** From this number of paths on, a sender's own are dropped first: the service has one or two. */
const MANY = 5;
/** Characters of a path that are stored and shown. */
const LONGEST = 120;
/** Log lines without a pause; then one in each period, in milliseconds. */
const LINES_AT_ONCE = 10;
const LINE_EVERY = 10 * 60 * 1000;
/** Milliseconds after which a path without further posts is dropped. */
const KEEP_MS = 24 * 60 * 60 * 1000;

/** Matches what is escaped: characters that no path of ours has, and `$` and `__`, which have a meaning in texts. */
const UNUSUAL = /[^A-Za-z0-9._~!&'()*+,;=:@/%-]|__/gu;

/** A post to a path that belongs to no endpoint. */
interface UnknownPost {
  path: string;
  /** Port of the server that received it. */
  port: number | undefined;
  /** Address of the sender, if known. */
  remoteAddress: string | undefined;
}

/** Posts to one such path, for people. A stranger chose the path, so it is shortened and escaped. */
export interface UnknownPath {
  path: string;
  port: number | null;
  count: number;
  /** ISO 8601, UTC, with `Z`. */
  lastTime: string;
  lastAddress?: string;
}

interface Entry extends UnknownPath {
  /** True once it is in the log. */
  isReported: boolean;
  /** Monotonic time. */
  lastAt: number;
}

interface UnknownPathsOptions {
  /** Called once for each path, unless strangers invent too many. */
  onFirst: (unknown: UnknownPath) => void;
  /** Wall clock, in milliseconds. */
  now: () => number;
  /** Monotonic clock, in milliseconds. */
  monotonic: () => number;
}

/** Counts posts to paths that belong to no endpoint: the address registered with the service may differ from ours. */
export class UnknownPaths {
  readonly #entries = new Map<string, Entry>();
  #linesLeft = LINES_AT_ONCE;
  #lineAt = -Infinity;

  constructor(private readonly options: UnknownPathsOptions) {}

  /** Newest first. */
  all(): UnknownPath[] {
    this.#forgetOld();
    return [...this.#entries.values()]
      .sort((one, other) => other.lastAt - one.lastAt)
      .map(({ isReported: _isTold, lastAt: _lastAt, ...unknown }) => unknown);
  }

  posted({ path, port, remoteAddress }: UnknownPost): void {
    const { now, monotonic } = this.options;
    const shown = shownPath(path);
    const key = keyOf(shown, port);
    const known = this.#entries.get(key);
    const entry: Entry = {
      path: shown,
      port: port ?? null,
      count: (known?.count ?? 0) + 1,
      lastTime: new Date(now()).toISOString(),
      ...(remoteAddress !== undefined && { lastAddress: remoteAddress }),
      isReported: known?.isReported ?? false,
      lastAt: monotonic(),
    };
    if (known === undefined) this.#evict();
    this.#entries.set(key, entry);
    if (!entry.isReported && this.#mayReport()) {
      entry.isReported = true;
      this.options.onFirst(entry);
    }
  }

  /** An endpoint has taken the path, on any port. */
  taken(path: string): void {
    const shown = shownPath(matchingPath(path));
    for (const [key, entry] of this.#entries) if (entry.path === shown) this.#entries.delete(key);
  }

  /**
   * A sender who invents paths drives out only its own, and a path posted to once never drives out one posted to repeatedly, as
   * by the service.
   */
  #evict(): void {
    this.#forgetOld();
    if (this.#entries.size < MOST) return;
    const ofSender = new Map<string | undefined, number>();
    for (const { lastAddress } of this.#entries.values())
      ofSender.set(lastAddress, (ofSender.get(lastAddress) ?? 0) + 1);
    const isOfMany = ({ lastAddress }: Entry): number => Number((ofSender.get(lastAddress) ?? 0) >= MANY);
    const [least] = [...this.#entries].sort(
      ([, one], [, other]) =>
        isOfMany(other) - isOfMany(one) || one.count - other.count || one.lastAt - other.lastAt,
    );
    if (least !== undefined) this.#entries.delete(least[0]);
  }

  #forgetOld(): void {
    const since = this.options.monotonic() - KEEP_MS;
    for (const [key, { lastAt }] of this.#entries) if (lastAt < since) this.#entries.delete(key);
  }

  #mayReport(): boolean {
    const now = this.options.monotonic();
    if (this.#linesLeft === 0 && now - this.#lineAt < LINE_EVERY) return false;
    this.#linesLeft = Math.max(0, this.#linesLeft - 1);
    this.#lineAt = now;
    return true;
  }
}

function keyOf(path: string, port: number | undefined): string {
  return `${port ?? ''} ${path}`;
}

/** A path for log and screen: short, and with harmless characters only. */
function shownPath(path: string): string {
  const start = path.slice(0, LONGEST);
  const clean = start.replace(UNUSUAL, (character) => escapeOf(character));
  return path.length > LONGEST || clean.length > LONGEST ? `${clean.slice(0, LONGEST)}…` : clean;
}

function escapeOf(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
