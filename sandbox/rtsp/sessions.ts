import type { RtspSession } from './session';

/** All RTSP sessions of the server, within their limits. */
export class Sessions {
  readonly #byId = new Map<string, RtspSession>();
  readonly #limit: number;
  readonly #timeoutSeconds: number;
  #opened = 0;

  /** `limit` counts the sessions of one owner (GrantRequest). */
  constructor(limit: number, timeoutSeconds: number) {
    this.#limit = limit;
    this.#timeoutSeconds = timeoutSeconds;
  }

  get count(): number {
    return this.#byId.size;
  }

  /** All that there ever were. */
  get opened(): number {
    return this.#opened;
  }

  find(id: string): RtspSession | undefined {
    return this.#byId.get(id);
  }

  /** True while this owner may have one more. */
  hasRoomFor(owner: string | undefined): boolean {
    let count = 0;
    for (const session of this.#byId.values()) if (session.grant.owner === owner) count++;
    return count < this.#limit;
  }

  add(session: RtspSession): void {
    this.#opened++;
    this.#byId.set(session.id, session);
    session.whenEnded(() => this.#byId.delete(session.id));
  }

  /** Ends the sessions whose players have gone silent. */
  endSilent(): void {
    for (const session of this.#byId.values()) if (session.silentFor(this.#timeoutSeconds)) session.end();
  }

  endAll(): void {
    for (const session of this.#byId.values()) session.end();
  }
}
