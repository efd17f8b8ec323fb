const TEN_IN_THE_MORNING = 10;
const START = Date.now();
/** How much later it is in the pictures than in truth, in milliseconds; below zero in the afternoon. */
const SHIFT = new Date(START).setUTCHours(TEN_IN_THE_MORNING, 0, 0, 0) - START;

/**
 * JavaScript with which it is morning for whatever runs it, a Node-RED and its sandbox or a page: the rendering begins at ten (UTC).
 * What cameras of the sandbox see is dark from six to six, and a picture must not change with the hour at which it is rendered.
 */
export const DAYLIGHT = `(() => {
  const Real = Date;
  const now = () => Real.now() + ${SHIFT};
  globalThis.Date = new Proxy(Real, {
    construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
})()`;

/** The time there, as ISO 8601. */
export function timeInDaylight(): string {
  return new Date(Date.now() + SHIFT).toISOString();
}
