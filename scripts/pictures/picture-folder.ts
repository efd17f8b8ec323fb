import fs from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';

/** The result of rendering a picture again. */
export type Outcome = 'new' | 'changed' | 'kept';

/**
 * Pixels per million that may differ before a picture counts as changed, by kind of content. Each value is slightly above the
 * largest difference measured between renderings of the same content (in brackets).
 */
export const TOLERANCE = {
  /** Nothing changes by itself: a changed word is above. */
  still: 20,
  /** Statuses of a flow, which appear, disappear and show times (1,700): a moved node is above. */
  statuses: 4000,
  /** Many times, and pictures of cameras (14,000). To render a smaller change, remove the picture first. */
  alarms: 20_000,
  /** A large video of a camera: its clock and bar show another second (25,000), and a person moves. */
  video: 45_000,
};

/** The committed pictures. One is replaced only if its new rendering differs. */
export class PictureFolder {
  /** Number of pictures so far by outcome. */
  readonly outcomes: Record<Outcome, number> = { new: 0, changed: 0, kept: 0 };

  constructor(
    private readonly folder: string,
    /** Any page: its canvas decodes the pictures. */
    private readonly page: Page,
  ) {}

  /**
   * Replaces the picture by a new rendering if they differ.
   * @param tolerance pixels per million that may differ
   */
  async take(name: string, png: Buffer, tolerance: number): Promise<Outcome> {
    const file = path.join(this.folder, name);
    const outcome = await this.#outcome(file, png, tolerance);
    this.outcomes[outcome] += 1;
    if (outcome !== 'kept') fs.writeFileSync(file, png);
    return outcome;
  }

  /** Replaces a file without comparison, for content that differs in every rendering, such as a recording. */
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

  /** Pixels per million that differ; a million if the sizes differ. */
  async #difference(before: Buffer, after: Buffer): Promise<number> {
    if (before.equals(after)) return 0;
    const [one, other] = [before, after].map((png) => JSON.stringify(png.toString('base64')));
    return this.page.evaluate<number>(`(${DIFFERENCE})(${one}, ${other})`);
  }
}

/** Runs in the page. A pixel differs if a colour does by over a quarter of its range; soft edges do less. */
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
