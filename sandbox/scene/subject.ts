/** What a camera looks at. */
export interface Subject {
  /** Shown at the lower edge, beside the time. */
  label: string;
  /** Second 0.. of the intruder's visit that an epoch second shows; undefined = nobody is there. */
  intruder(second: number): number | undefined;
}

/** How long an intruder is in the picture: from one second before the second of the alarm on. */
export const INTRUDER_SECONDS = 10;

/** The visit of an intruder whose alarm began at an epoch second, as seen in another. */
export function visitOf(alarm: number, second: number): number | undefined {
  const visit = second - alarm + 1;
  return visit >= 0 && visit < INTRUDER_SECONDS ? visit : undefined;
}
