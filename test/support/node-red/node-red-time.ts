import type { NodeRed } from './node-red';

/** What a piece of work gives, while the clock of a Node-RED with MOVABLE_CLOCK runs as fast as it can. */
export async function whileTimeFlies<Result>(nodeRed: NodeRed, work: Promise<Result>): Promise<Result> {
  const isOver = work.then(
    () => true,
    () => true,
  );
  do await nodeRed.advance(0.5);
  while (!(await Promise.race([isOver, Promise.resolve(false)])));
  return work;
}

/**
 * JavaScript of a setting beside MOVABLE_CLOCK: what is done again and again, each second or more seldom, is also done once as
 * much time as that was moved.
 */
export const MOVABLE_INTERVALS = `movableIntervals: (() => {
    const [begin, end] = [setInterval, clearInterval];
    const going = new Map();
    globalThis.setInterval = (act, ms, ...args) => {
      const timer = begin(act, ms, ...args);
      if (ms >= 1000) going.set(timer, { ms, left: ms, act: () => act(...args) });
      return timer;
    };
    globalThis.clearInterval = (timer) => {
      going.delete(timer);
      end(timer);
    };
    clocks.push((advance) => {
      for (const each of going.values()) {
        each.left -= advance;
        if (each.left > 0) continue;
        each.left = each.ms;
        each.act();
      }
    });
  })(),`;

/**
 * JavaScript of a setting: the clock that never jumps, and the timers that wait for seconds, stand still but for what `advance`
 * moves them. So a deploy on a busy machine takes no longer than an alarm may wait for its end, and a test need not wait itself.
 */
export const STANDING_TIME = `standingTime: (() => {
    const [begin, end] = [setTimeout, clearTimeout];
    const waiting = new Map();
    let now = Math.round(performance.now());
    performance.now = () => now;
    globalThis.setTimeout = (act, ms, ...args) => {
      const timer = begin(act, ms, ...args);
      if (!(ms >= 1000)) return timer;
      end(timer);
      waiting.set(timer, { at: now + ms, act: () => act(...args) });
      console.log('A timer stands at ' + Math.round(ms) + ' ms.');
      return timer;
    };
    globalThis.clearTimeout = (timer) => {
      waiting.delete(timer);
      end(timer);
    };
    clocks.push((advance) => {
      now += advance;
      for (const [timer, { at, act }] of waiting) {
        if (at > now) continue;
        waiting.delete(timer);
        act();
      }
    });
  })(),`;

/**
 * JavaScript of a setting: timers that wait for so long, in milliseconds, stand until `advance` moves them; all else goes on. For
 * a time that no test can wait for.
 */
export function standingTimers(ms: number): string {
  return `standingTimers: (() => {
    const [begin, end] = [setTimeout, clearTimeout];
    const waiting = new Map();
    globalThis.setTimeout = (act, ms, ...args) => {
      const timer = begin(act, ms, ...args);
      if (ms !== ${ms}) return timer;
      end(timer);
      waiting.set(timer, { left: ms, act: () => act(...args) });
      console.log('A timer stands at ' + ms + ' ms.');
      return timer;
    };
    globalThis.clearTimeout = (timer) => {
      waiting.delete(timer);
      end(timer);
    };
    clocks.push((advance) => {
      for (const [timer, standing] of waiting) {
        standing.left -= advance;
        if (standing.left > 0) continue;
        waiting.delete(timer);
        standing.act();
      }
    });
  })(),`;
}

/** Waits until such a Node-RED has a timer that it did not have when its log was so long. Milliseconds. */
export function timerStands(nodeRed: NodeRed, ms: number, from: number): Promise<void> {
  return nodeRed.logged(new RegExp(`A timer stands at ${ms} ms`), from);
}
