import fs from 'node:fs';
import path from 'node:path';
import type { CDPSession, Page } from 'playwright-core';

/** A picture of the page, and the time in seconds since which it is shown. */
export interface ScreenFrame {
  file: string;
  time: number;
}

/** Records a page as PNG files in a folder: one for each change, as fast as the machine allows. */
export class Screencast {
  readonly #frames: ScreenFrame[] = [];
  #written: Promise<void> = Promise.resolve();

  private constructor(
    private readonly session: CDPSession,
    private readonly folder: string,
  ) {}

  static async start(page: Page, folder: string): Promise<Screencast> {
    const session = await page.context().newCDPSession(page);
    const screencast = new Screencast(session, folder);
    session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
      screencast.#add(Buffer.from(data, 'base64'), metadata.timestamp ?? Date.now() / 1000);
      void session.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined);
    });
    await session.send('Page.startScreencast', { format: 'png' });
    return screencast;
  }

  /** @returns all frames; the last one is repeated with the time of the end */
  async stop(): Promise<ScreenFrame[]> {
    await this.session.send('Page.stopScreencast');
    await this.#written;
    const last = this.#frames.at(-1);
    if (last === undefined) throw new Error('The page has shown nothing.');
    return [...this.#frames, { file: last.file, time: Date.now() / 1000 }];
  }

  #add(png: Buffer, time: number): void {
    const file = path.join(this.folder, `${String(this.#frames.length).padStart(5, '0')}.png`);
    this.#frames.push({ file, time });
    this.#written = this.#written.then(() => fs.promises.writeFile(file, png));
  }
}
