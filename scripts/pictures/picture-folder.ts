import fs from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';

/** What became of a picture that was rendered anew. */
export type Outcome = 'new' | 'changed' | 'kept';

/**
 * Pixels of a million that may differ before a picture counts as changed, by what changes in it by itself. Above the most
 * that renderings of the same differed by, and as little above as can be.
 */
export const TOLERANCE = {
  /** Nothing: a changed word is above. */
  still: 20,
  /** Statuses of a flow, which come and go and tell times (1,700): a node that was moved is above. */
  statuses: 4000,
  /** Times all over, and pictures of cameras (14,000). What is smaller needs the picture removed to be rendered. */
  alarms: 20_000,
  /** A large video of a camera, whose clock and bar tell another second (25,000), and in which somebody moves. */
  video: 45_000,
};

/** Pictures that are kept in git: one is replaced only where its new rendering shows something else. */
export class PictureFolder {
  /** How many pictures came to what so far. */
  readonly outcomes: Record<Outcome, number> = { new: 0, changed: 0, kept: 0 };

  constructor(
    private readonly folder: string,
    /** Any page: its canvas reads the pictures. */
    private readonly page: Page,
  ) {}

  /**
   * Takes a new rendering in the place of the picture, or leaves that as it is.
   * @param tolerance pixels of a million that may differ
   */
  async take(name: string, png: Buffer, tolerance: number): Promise<Outcome> {
    const file = path.join(this.folder, name);
    const outcome = await this.#outcome(file, png, tolerance);
    this.outcomes[outcome] += 1;
    if (outcome !== 'kept') fs.writeFileSync(file, png);
    return outcome;
  }

  /** Takes what is new in every rendering, such as a recording. */
  replace(name: string, bytes: Buffer): Outcome {
    const outcome = this.has(name) ? 'changed' : 'new';
    this.outcomes[outcome] += 1;
    fs.writeFileSync(path.join(this.folder, name), bytes);
    return outcome;
  }

  has(name: string): boolean {
    return fs.existsSync(path.join(this.folder, name));
  }

  async #outcome(file: string, png: Buffer, tolerance: number): Promise<Outcome> {
    if (!fs.existsSync(file)) return 'new';
    const difference = await this.#difference(fs.readFileSync(file), png);
    return difference > tolerance ? 'changed' : 'kept';
  }

  /** Pixels of a million that differ; all, where the sizes do. */
  async #difference(before: Buffer, after: Buffer): Promise<number> {
    if (before.equals(after)) return 0;
    const [one, other] = [before, after].map((png) => JSON.stringify(png.toString('base64')));
    return this.page.evaluate<number>(`(${DIFFERENCE})(${one}, ${other})`);
  }
}

/** Runs in the page. A pixel differs where a colour does by a quarter of its range: softened edges do by less. */
const DIFFERENCE = `async (...pictures) => {
  const [one, other] = await Promise.all(pictures.map(async (base64) => {
    const answer = await fetch('data:image/png;base64,' + base64);
    const image = await createImageBitmap(await answer.blob());
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  }));
  if (one.width !== other.width || one.height !== other.height) return 1e6;
  const differs = (at) => Math.abs(one.data[at] - other.data[at]) > 64;
  let differing = 0;
  for (let at = 0; at < one.data.length; at += 4)
    if (differs(at) || differs(at + 1) || differs(at + 2)) differing += 1;
  return (differing * 1e6) / (one.width * one.height);
}`;
