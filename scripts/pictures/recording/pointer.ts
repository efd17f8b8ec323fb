import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';

/** Steps of one movement of the pointer, and milliseconds between two steps. */
const STEPS = 16;
const STEP_MS = 40;
/** Milliseconds for which the button is pressed. */
const PRESS_MS = 250;

/** A visible pointer, because a headless page shows none. */
export class Pointer {
  #at = { x: 0, y: 0 };

  private constructor(private readonly page: Page) {}

  static async show(page: Page, x: number, y: number): Promise<Pointer> {
    await page.evaluate(DRAW);
    const pointer = new Pointer(page);
    await pointer.#moveTo(x, y);
    return pointer;
  }

  /** Moves to the centre of an element as a person does, and clicks. */
  async click(selector: string): Promise<void> {
    const box = await this.page.locator(selector).first().boundingBox();
    if (box === null) throw new Error(`${selector} is not to be seen.`);
    await this.#glideTo(box.x + box.width / 2, box.y + box.height / 2);
    await this.page.mouse.down();
    await delay(PRESS_MS);
    await this.page.mouse.up();
  }

  /** Moves slowly at both ends. */
  async #glideTo(x: number, y: number): Promise<void> {
    const from = this.#at;
    for (let step = 1; step <= STEPS; step += 1) {
      const part = (1 - Math.cos((Math.PI * step) / STEPS)) / 2;
      await this.#moveTo(from.x + (x - from.x) * part, from.y + (y - from.y) * part);
      await delay(STEP_MS);
    }
  }

  async #moveTo(x: number, y: number): Promise<void> {
    await this.page.mouse.move(x, y);
    this.#at = { x, y };
  }
}

/** Runs in the page: draws an arrow that follows the mouse, with a disc while its button is pressed. */
const DRAW = `(() => {
  const pointer = document.createElement('div');
  pointer.style = 'position: fixed; z-index: 10000; left: 0; top: 0; pointer-events: none';
  pointer.innerHTML = '<svg width="56" height="56" viewBox="-28 -28 56 56" style="margin: -28px">' +
    '<circle r="16" fill="#2f81f7" opacity="0"/>' +
    '<path d="M0 0V19L4.6 14.8L7.6 21.8L10.6 20.5L7.7 13.7H14Z" fill="#fff" stroke="#000" stroke-width="1.3"/></svg>';
  document.body.append(pointer);
  const disc = pointer.querySelector('circle');
  addEventListener('mousemove', (event) => {
    pointer.style.transform = 'translate(' + event.clientX + 'px, ' + event.clientY + 'px)';
  }, true);
  for (const [name, opacity] of [['mousedown', 0.45], ['mouseup', 0]])
    addEventListener(name, () => disc.setAttribute('opacity', opacity), true);
})()`;
