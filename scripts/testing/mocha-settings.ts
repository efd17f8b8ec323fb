import fs from 'node:fs';
import path from 'node:path';

interface Settings {
  'node-option': string[];
  timeout: number;
  'forbid-only': boolean;
}

const FILE = path.join(__dirname, '..', '..', '.mocharc.json');

/** Those that mocha itself reads where it is called by hand: its own `.mocharc.json` is their home. */
const SETTINGS = JSON.parse(fs.readFileSync(FILE, 'utf8')) as Settings;

/** Of a process that runs test files. */
export const NODE_OPTIONS: readonly string[] = SETTINGS['node-option'].map((option) => `--${option}`);

export const MOCHA_OPTIONS = { timeout: SETTINGS.timeout, forbidOnly: SETTINGS['forbid-only'] };
