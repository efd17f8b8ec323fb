import fs from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { NodeRed } from '../../test/support/node-red/node-red';

/** Pictures that are taken of one Node-RED. */
export interface Shoot {
  /** Names of the files that the shoot can make. */
  names: readonly string[];
  /** Third-party packages that the flow needs. */
  palette?: readonly string[];
  take: (nodeRed: NodeRed, studio: ScreenshotBrowser) => Promise<void>;
}

/** The browser that takes the pictures, and the selection of pictures to render. */
export class ScreenshotBrowser {
  constructor(
    readonly browser: Browser,
    private readonly pictures: PictureFolder,
    /** Prefixes of the wanted names; empty = all, except recordings that exist. */
    private readonly words: readonly string[],
  ) {}

  wants(name: string): boolean {
    if (this.words.length > 0) return this.words.some((word) => name.startsWith(word));
    return name.endsWith('.png') || !this.pictures.has(name);
  }

  /** Writes a picture if it is wanted and differs from the existing one. */
  async take(name: string, png: Buffer, tolerance: number): Promise<void> {
    if (this.wants(name)) print(name, await this.pictures.take(name, png, tolerance));
  }

  /** Writes a recording without comparison: no two are alike. */
  replace(name: string, bytes: Buffer): void {
    print(name, this.pictures.replace(name, bytes));
  }
}

/** Prints the name of a new or changed picture. */
function print(name: string, outcome: Outcome): void {
  if (outcome !== 'kept') console.log(`${outcome}: docs/images/${name}`);
}

/** A part of a page, in pixels of the page. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Margin around the content, in pixels of the page. */
export const MARGIN = 20;
/** Pixels of a picture per pixel of the page. */
export const SCALE = 1.5;

export const THEMES = ['light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** The file names of a picture, one for each theme. */
export function inEachTheme(name: string): string[] {
  return THEMES.map((theme) => `${name}-${theme}.png`);
}

/** Calls `work` once with each theme of the editor switched on. */
export async function forEachTheme(page: Page, work: (theme: Theme) => Promise<void>): Promise<void> {
  for (const theme of THEMES) {
    await page.evaluate(`document.documentElement.classList.toggle('nr-theme-dark', ${theme === 'dark'})`);
    await work(theme);
  }
}

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

/** The result of rendering a picture again. */
type Outcome = 'new' | 'changed' | 'kept';

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

export interface SandboxAlarm {
  camera: string;
  eventName: string;
}

/** An intruder climbs the fence. The recording is available at once, and in H.264, which Chromium plays. */
export const FENCE: SandboxAlarm = { camera: 'SANDBOX North Fence 1', eventName: 'Person at the fence' };

/** Longer than a picture takes, so that no message of the end arrives meanwhile. */
const LASTS_SECONDS = 600;
const STARTED = /sandbox started: service on ([^,\s]+)/;

/** Raises an alarm in the sandbox of a Node-RED, once the sandbox has started. */
export async function raiseAlarm(nodeRed: NodeRed, alarm: SandboxAlarm = FENCE): Promise<void> {
  await nodeRed.logged(STARTED);
  const [, url = ''] = STARTED.exec(nodeRed.log) ?? [];
  const body = JSON.stringify({ ...alarm, seconds: LASTS_SECONDS });
  const response = await fetch(`${url}/sandbox/alarms`, { method: 'POST', body });
  if (!response.ok) throw new Error(`The sandbox raises no alarm: ${response.status}.`);
}
