import { matchingPath } from './endpoint';

/** Paths that are kept; of more the one with the fewest posts gives way, and of those the oldest; first those of a sender with many. */
const MOST = 20;
/** So many paths a sender has before its own give way first: the service has one or two. */
const MANY = 5;
/** Characters of a path that are kept and shown. */
const LONGEST = 120;
/** Lines of the log without a pause; after them one in each period, in milliseconds. */
const LINES_AT_ONCE = 10;
const LINE_EVERY = 10 * 60 * 1000;
/** How long a path to which nothing more is posted stays, in milliseconds. */
const KEPT_FOR = 24 * 60 * 60 * 1000;

/** All that a path of ours can have, but for `$` and `__`, which mean something in texts: the rest is a stranger's, and is escaped. */
const UNUSUAL = /[^A-Za-z0-9._~!&'()*+,;=:@/%-]|__/gu;

/** A post to a path that nobody has. */
interface UnknownPost {
  path: string;
  /** Of the server that it came to. */
  port: number | undefined;
  /** Address of the sender, as far as it is known. */
  remoteAddress: string | undefined;
}

/** Posts to one such path, for people: what a stranger has put into it is cut and escaped. */
export interface UnknownPath {
  path: string;
  port: number | null;
  count: number;
  /** ISO 8601, UTC, with `Z`. */
  lastTime: string;
  lastAddress?: string;
}

interface Entry extends UnknownPath {
  /** It stands in the log. */
  isTold: boolean;
  /** Of the steady clock. */
  lastAt: number;
}

interface UnknownPathsOptions {
  /** Told of each path once, as long as strangers do not invent too many. */
  onFirst: (unknown: UnknownPath) => void;
  /** Wall clock, in milliseconds. */
  now: () => number;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
}

/** Paths that somebody posts to and no endpoint has: the address that is registered with the service may be another than ours. */
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
      .map(({ isTold: _isTold, lastAt: _lastAt, ...unknown }) => unknown);
  }

  posted({ path, port, remoteAddress }: UnknownPost): void {
    const { now, steady } = this.options;
    const shown = shownPath(path);
    const key = keyOf(shown, port);
    const known = this.#entries.get(key);
    const entry: Entry = {
      path: shown,
      port: port ?? null,
      count: (known?.count ?? 0) + 1,
      lastTime: new Date(now()).toISOString(),
      ...(remoteAddress !== undefined && { lastAddress: remoteAddress }),
      isTold: known?.isTold ?? false,
      lastAt: steady(),
    };
    if (known === undefined) this.#makeRoom();
    this.#entries.set(key, entry);
    if (!entry.isTold && this.#mayTell()) {
      entry.isTold = true;
      this.options.onFirst(entry);
    }
  }

  /** An endpoint has the path now, on whichever port. */
  taken(path: string): void {
    const shown = shownPath(matchingPath(path));
    for (const [key, entry] of this.#entries) if (entry.path === shown) this.#entries.delete(key);
  }

  /** One who invents paths drives out his own, and what comes once never what comes again and again, as the service does. */
  #makeRoom(): void {
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
    const since = this.options.steady() - KEPT_FOR;
    for (const [key, { lastAt }] of this.#entries) if (lastAt < since) this.#entries.delete(key);
  }

  #mayTell(): boolean {
    const now = this.options.steady();
    if (this.#linesLeft === 0 && now - this.#lineAt < LINE_EVERY) return false;
    this.#linesLeft = Math.max(0, this.#linesLeft - 1);
    this.#lineAt = now;
    return true;
  }
}

function keyOf(path: string, port: number | undefined): string {
  return `${port ?? ''} ${path}`;
}

/** A path for log and screen: short, and of harmless characters alone. */
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
