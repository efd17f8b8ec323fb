/** Another instance, as its row has it. */
export interface PeerInstance {
  epoch: string;
  /** For people. */
  name: string;
  /** How often it has beaten: text, for it is only compared. */
  beats: string;
  /** Milliseconds without a beat after which it may be taken for dead. */
  ttl: number;
  /** Milliseconds since its last beat by the clock of the database. */
  sinceBeat: number;
}

interface Sight {
  beats: string;
  /** Steady time at which this count was known first, in milliseconds. */
  since: number;
}

/**
 * Finds out which of the others are dead: those that did not beat for their time to live while this instance, without a gap,
 * did. After an outage of the database nobody has beaten, and the first one back must not take all others for dead.
 */
export class PeerMonitor {
  /** By epoch. */
  #sights = new Map<string, Sight>();
  #answered = -Infinity;

  /** @param longestGap between two of one's own beats, in milliseconds: after a longer one nothing counts that was seen before */
  constructor(private readonly longestGap: number) {}

  /**
   * @param asked steady time at which the rows were asked for, in milliseconds
   * @param answered and at which they came
   * @returns those that are dead
   */
  look(rows: readonly PeerInstance[], asked: number, answered: number): PeerInstance[] {
    if (asked - this.#answered > this.longestGap) this.#sights.clear();
    this.#answered = answered;
    // Those that are gone are forgotten.
    this.#sights = new Map(rows.map((row) => [row.epoch, this.#sightOf(row, answered)]));
    return rows.filter((row) => this.#isDead(row, asked));
  }

  /** The interval is taken as short as it can have been: from the answer that showed it first to the question now. */
  #isDead({ epoch, ttl, sinceBeat }: PeerInstance, asked: number): boolean {
    const since = this.#sights.get(epoch)?.since ?? Infinity;
    // A beat of the future is from before the clock of the database was set back: that clock can say nothing then.
    return asked - since >= ttl && (sinceBeat > ttl || sinceBeat < 0);
  }

  #sightOf({ epoch, beats }: PeerInstance, answered: number): Sight {
    const known = this.#sights.get(epoch);
    return known?.beats === beats ? known : { beats, since: answered };
  }
}
