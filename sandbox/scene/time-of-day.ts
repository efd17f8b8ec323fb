import type { Moments } from './pack';

const DAY = { from: 6, to: 18 } as const;

/** Day from six to six, by the hour that the picture shows (UTC). */
export function atTimeOfDay<T>(second: number, moments: Moments<T>): T {
  const hour = ((Math.floor(second / 3600) % 24) + 24) % 24;
  return hour >= DAY.from && hour < DAY.to ? moments.day : moments.night;
}
