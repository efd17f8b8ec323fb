import type { Browser } from 'playwright-core';
import type { NodeRed } from '../../test/support/node-red/node-red';
import type { Outcome, PictureFolder } from './picture-folder';

/** Pictures of one Node-RED. */
export interface Shoot {
  /** Of the files that it makes, where they are wanted. */
  names: readonly string[];
  /** Packages of others that its flow needs. */
  palette?: readonly string[];
  take: (nodeRed: NodeRed, studio: ScreenshotBrowser) => Promise<void>;
}

/** What pictures are made with, and which of them are wanted. */
export class ScreenshotBrowser {
  constructor(
    readonly browser: Browser,
    private readonly pictures: PictureFolder,
    /** What the names of the wanted ones begin with; none: all, but for recordings that are there. */
    private readonly words: readonly string[],
  ) {}

  wants(name: string): boolean {
    if (this.words.length > 0) return this.words.some((word) => name.startsWith(word));
    return name.endsWith('.png') || !this.pictures.has(name);
  }

  /** Keeps a picture, if it is wanted and shows something else than the one that is there. */
  async take(name: string, png: Buffer, tolerance: number): Promise<void> {
    if (this.wants(name)) tell(name, await this.pictures.take(name, png, tolerance));
  }

  /** Keeps a recording: no two are alike. */
  replace(name: string, bytes: Buffer): void {
    tell(name, this.pictures.replace(name, bytes));
  }
}

/** Says which picture is another one now. */
function tell(name: string, outcome: Outcome): void {
  if (outcome !== 'kept') console.log(`${outcome}: docs/images/${name}`);
}
