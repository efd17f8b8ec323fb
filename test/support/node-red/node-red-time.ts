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
export const STANDING_TIME = `standingClock: (() => {
    let now = Math.round(performance.now());
    performance.now = () => now;
    clocks.push((advance) => (now += advance));
  })(),
  ${standing('ms >= 1000')}`;

/** Timers that wait for so many milliseconds stand until `advance` moves them; all else goes on. */
export function standingTimers(ms: number): string {
  return standing(`ms === ${ms}`);
}

function standing(which: string): string {
  return `standingTimers: (() => {
    const [begin, end] = [setTimeout, clearTimeout];
    const waiting = new Map();
    let passed = 0;
    globalThis.setTimeout = (act, ms, ...args) => {
      const timer = begin(act, ms, ...args);
      if (!(${which})) return timer;
      end(timer);
      waiting.set(timer, { at: passed + ms, act: () => act(...args) });
      console.log('A timer stands at ' + Math.round(ms) + ' ms.');
      return timer;
    };
    globalThis.clearTimeout = (timer) => {
      waiting.delete(timer);
      end(timer);
    };
    clocks.push((advance) => {
      passed += advance;
      for (const [timer, { at, act }] of waiting) {
        if (at > passed) continue;
        waiting.delete(timer);
        act();
      }
    });
  })(),`;
}

/** Waits until such a Node-RED has a timer that it did not have when its log was so long. Milliseconds. */
export function timerStands(nodeRed: NodeRed, ms: number, from: number): Promise<void> {
  return nodeRed.logged(new RegExp(`A timer stands at ${ms} ms`), from);
}
