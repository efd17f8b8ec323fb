import type { Browser } from 'playwright-core';
import type { NodeRed } from '../../test/support/node-red/node-red';
import type { Outcome, PictureFolder } from './picture-folder';

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
    if (this.wants(name)) tell(name, await this.pictures.take(name, png, tolerance));
  }

  /** Writes a recording without comparison: no two are alike. */
  replace(name: string, bytes: Buffer): void {
    tell(name, this.pictures.replace(name, bytes));
  }
}

/** Prints the name of a new or changed picture. */
function tell(name: string, outcome: Outcome): void {
  if (outcome !== 'kept') console.log(`${outcome}: docs/images/${name}`);
}
