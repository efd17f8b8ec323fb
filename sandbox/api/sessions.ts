import { randomBytes } from 'node:crypto';

const COOKIE = 'sandbox_session';
/** A session without a request for so long is over. */
const IDLE_MS = 2 * 3_600_000;
/** The oldest session gives way to a new one beyond this number. */
const MOST_SESSIONS = 1000;

interface Session {
  station: string;
  usedAt: number;
}

/** Login sessions, carried by a cookie (specification, section 5). */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** Opens a session for a station's Agent User; the answer is the value of the `Set-Cookie` header. */
  open(station: string): string {
    const oldest = this.#sessions.keys().next();
    if (this.#sessions.size >= MOST_SESSIONS && oldest.done !== true) this.#sessions.delete(oldest.value);
    const token = randomBytes(32).toString('base64url');
    this.#sessions.set(token, { station, usedAt: this.#now() });
    return `${COOKIE}=${token}; Path=/; HttpOnly; SameSite=Strict`;
  }

  /** The key of the station whose session the cookie carries. */
  stationOf(cookieHeader: string | undefined): string | undefined {
    const token = cookieValue(cookieHeader);
    const session = token === undefined ? undefined : this.#sessions.get(token);
    if (token === undefined || session === undefined) return undefined;
    if (this.#now() - session.usedAt > IDLE_MS) {
      this.#sessions.delete(token);
      return undefined;
    }
    session.usedAt = this.#now();
    return session.station;
  }

  endStation(station: string): void {
    for (const [token, session] of this.#sessions) {
      if (session.station === station) this.#sessions.delete(token);
    }
  }

  endAll(): void {
    this.#sessions.clear();
  }
}

function cookieValue(header: string | undefined): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [name, value] = pair.trim().split('=');
    if (name === COOKIE && value !== undefined) return value;
  }
  return undefined;
}
