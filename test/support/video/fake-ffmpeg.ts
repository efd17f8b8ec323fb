import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Programs that call themselves ffmpeg, in a folder of their own, and what they leave there. */
export class FakeFfmpeg {
  #folder = '';

  /** The folder: for a PATH. */
  get folder(): string {
    return this.#folder;
  }

  start(): void {
    this.#folder = mkdtempSync(path.join(os.tmpdir(), 'fake-ffmpeg-'));
  }

  stop(): void {
    rmSync(this.#folder, { recursive: true });
  }

  /**
   * A shell script that answers the question for its version, and else does what it is told.
   * @param deeds lines of the script; `$folder` is where it may leave what the test looks at
   */
  write(deeds: string, version = '5.1.9'): string {
    const answer = `[ "$1" = -version ] && { echo "ffmpeg version ${version} of a test"; exit 0; }`;
    return this.writeFile(['#!/bin/sh', `folder='${this.#folder}'`, answer, deeds, ''].join('\n'));
  }

  /** Anything in the place of the program. */
  writeFile(content: string | Buffer, mode = 0o755): string {
    const file = path.join(this.#folder, 'ffmpeg');
    writeFileSync(file, content, { mode });
    return file;
  }

  writeFolder(): string {
    const file = path.join(this.#folder, 'ffmpeg');
    mkdirSync(file);
    return file;
  }

  remove(): void {
    rmSync(path.join(this.#folder, 'ffmpeg'));
  }

  /** What it left in a file; undefined before it did. */
  left(name: string): string | undefined {
    try {
      return readFileSync(path.join(this.#folder, name), 'utf8');
    } catch {
      return undefined;
    }
  }

  /** For its scripts, which may also wait for it. */
  leave(name: string, content: string | Buffer = ''): void {
    writeFileSync(path.join(this.#folder, name), content);
  }
}
