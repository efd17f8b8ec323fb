import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { StationClient, type StationClientOptions } from '../../../lib/cloud/station-client';
import { STATION_TIMING, type StationTiming } from '../../../lib/cloud/timing';

/** The runs of a client, one after the other, that keep what they have learned in one folder. */
export class Runs {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-hints-'));
  readonly faults: Error[] = [];
  #client: StationClient | undefined;

  /** @param settings of the client, but for the folder */
  constructor(private readonly settings: () => StationClientOptions) {}

  /** Ends the run before, and begins another one. */
  async next(
    options: Partial<StationClientOptions> = {},
    timing: Partial<StationTiming> = {},
  ): Promise<StationClient> {
    await this.end();
    const hints = { folder: this.folder, onFault: (error: Error) => void this.faults.push(error) };
    this.#client = new StationClient(
      { ...this.settings(), hints, ...options },
      { ...STATION_TIMING, ...timing },
    );
    return this.#client;
  }

  async end(): Promise<void> {
    await this.#client?.close();
  }

  async endAndRemove(): Promise<void> {
    await this.end();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** The files that were written, by name; none where there is no folder. */
  files(): string[] {
    return fs.existsSync(this.folder) ? fs.readdirSync(this.folder).sort() : [];
  }

  /** The file of the links, or of the pages. */
  file(kind: 'links' | 'pages'): string {
    const name = this.files().find((candidate) => candidate.endsWith(`.${kind}`));
    if (name === undefined) throw new Error(`there is no file of the ${kind}`);
    return path.join(this.folder, name);
  }

  /** Changes with each writing of the files, and with nothing else. */
  writings(): number[] {
    return [this.file('links'), this.file('pages')].map((file) => fs.statSync(file).ino);
  }
}
