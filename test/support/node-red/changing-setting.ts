import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** A property of settings.js that a test changes while Node-RED runs; nodes read it when they are deployed. */
export class ChangingSetting {
  readonly #folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-setting-'));
  readonly #file = path.join(this.#folder, 'value.js');

  constructor(private readonly name: string) {
    this.set('undefined');
  }

  /** For the settings that Node-RED is started with. */
  get text(): string {
    const read = `require('fs').readFileSync(${JSON.stringify(this.#file)}, 'utf8')`;
    return `get ${this.name}() { return (0, eval)('(' + ${read} + ')'); },`;
  }

  /** @param value JavaScript */
  set(value: string): void {
    fs.writeFileSync(this.#file, value);
  }

  remove(): void {
    fs.rmSync(this.#folder, { recursive: true });
  }
}
