import type { SenderReport } from './rtcp-packets';

/** From 1900, where NTP begins, to 1970. */
const NTP_TO_UNIX = 2_208_988_800;
/** Behind it the seconds of NTP begin anew, in 2036; those with the highest bit are of the years since 1968 (RFC 4330, section 3). */
const ERA = 2 ** 32;
/** No camera of ours is older: what says so counts from its start, or has no clock at all. */
const EARLIEST = Date.UTC(2000, 0, 1);

/** Milliseconds since 1970; undefined where the sender has no wall clock, and sends 0 or the time since it was switched on. */
export function wallMsOf({ ntpSeconds, ntpFraction }: SenderReport): number | undefined {
  if (ntpSeconds === 0) return undefined;
  const seconds = (ntpSeconds >= ERA / 2 ? ntpSeconds : ntpSeconds + ERA) - NTP_TO_UNIX;
  const ms = (seconds + ntpFraction / ERA) * 1000;
  return ms < EARLIEST ? undefined : ms;
}
