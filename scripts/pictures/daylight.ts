const TEN_IN_THE_MORNING = 10;

/** When it is in the pictures, as much later or earlier than in truth, in milliseconds. */
function shift(): number {
  const now = Date.now();
  return new Date(now).setUTCHours(TEN_IN_THE_MORNING, 0, 0, 0) - now;
}

/**
 * JavaScript of a setting with which a Node-RED, and the sandbox in it, begins at ten in the morning (UTC): what cameras of the
 * sandbox see is dark from six to six, and a picture must not change with the hour at which it is rendered.
 */
export function daylight(): string {
  return `daylight: (() => {
    const Real = Date;
    const now = () => Real.now() + ${shift()};
    globalThis.Date = new Proxy(Real, {
      construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
      get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
    });
  })(),`;
}

/** The time at which such a Node-RED begins. */
export function morning(): string {
  return new Date(Date.now() + shift()).toISOString();
}
