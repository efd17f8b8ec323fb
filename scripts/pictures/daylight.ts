const TEN_IN_THE_MORNING = 10;
const START = Date.now();
/** Milliseconds from the real time to the time in the pictures; negative after ten. */
const SHIFT = new Date(START).setUTCHours(TEN_IN_THE_MORNING, 0, 0, 0) - START;

/**
 * JavaScript that shifts `Date` in a Node-RED (with its sandbox) or a page, so that rendering begins at 10:00 UTC. The cameras
 * of the sandbox show night from 18:00 to 06:00, and a picture must not depend on the hour of its rendering.
 */
export const DAYLIGHT = `(() => {
  const Real = Date;
  const now = () => Real.now() + ${SHIFT};
  globalThis.Date = new Proxy(Real, {
    construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
})()`;

/** The shifted time as ISO 8601. */
export function timeInDaylight(): string {
  return new Date(Date.now() + SHIFT).toISOString();
}
