/** What is told of by kind, in the order in which a person should look at them. Of a `fault`, alarms may be lost or seen by nobody. */
export const FAULTS = [
  'store-failing',
  'listener-down',
  'spill-in-use',
  'no-standby',
  'key-rejected',
  'login-refused',
  'service-unreachable',
  'self-test-failed',
  'silent',
] as const;
/** What a person should see to, and what keeps no alarm out by itself. */
export const WARNINGS = [
  'not-proven',
  'same-phrase',
  'no-owner',
  'backlog',
  'dead-letters',
  'no-recording',
  'no-decoder',
  'clock',
] as const;

export type FindingKind = (typeof FAULTS)[number] | (typeof WARNINGS)[number];
export type Severity = 'fault' | 'warning';

/** A finding as a flow gets it. */
export interface Finding {
  what: FindingKind;
  severity: Severity;
  /** Short name of the Central Station; null where it is not of one alone. */
  station: string | null;
  /** ISO 8601, UTC, with `Z`. */
  since: string;
  /** One sentence: what is wrong, and what to do. */
  text: string;
}

/** Something that is wrong, as it is seen at one look. Plain values only, for other instances are told of it. */
export interface Sighting {
  /** The same at each look at the same thing. */
  id: string;
  what: FindingKind;
  station: string | null;
  /** ISO 8601, UTC, with `Z`; absent where only the look itself tells. */
  since?: string;
  /** Which of the sentences of its kind tells of it, and what that names. */
  sentence: string;
  values: Readonly<Record<string, string | number>>;
}

/** A sighting that stands. */
export type Standing = Sighting & { since: string };

/** What one look has shown. */
export interface Look<Seen extends Sighting = Sighting> {
  seen: readonly Seen[];
  /** Ids of what cannot be said now: what was wrong there before may be so still. */
  unsure: readonly string[];
}

const RANKS: readonly FindingKind[] = [...FAULTS, ...WARNINGS];

export function severityOf(what: FindingKind): Severity {
  return (FAULTS as readonly FindingKind[]).includes(what) ? 'fault' : 'warning';
}

export function isFault({ what }: { what: FindingKind }): boolean {
  return severityOf(what) === 'fault';
}

/** Faults first, then as long as they stand. */
export function inOrder<Each extends Standing>(findings: readonly Each[]): Each[] {
  const rank = ({ what }: Each): number => RANKS.indexOf(what);
  return [...findings].sort(
    (one, other) =>
      rank(one) - rank(other) || one.since.localeCompare(other.since) || one.id.localeCompare(other.id),
  );
}

/** True where both tell of the same things. */
export function areSameFindings(some: readonly Sighting[], others: readonly Sighting[]): boolean {
  const ids = new Set(some.map(({ id }) => id));
  return ids.size === others.length && others.every(({ id }) => ids.has(id));
}
