import fs from 'node:fs';
import path from 'node:path';

interface Settings {
  'node-option': string[];
  timeout: number;
  'forbid-only': boolean;
}

const FILE = path.join(__dirname, '..', '..', '.mocharc.json');

/** From `.mocharc.json`, so that a direct call of mocha uses the same settings. */
const SETTINGS = JSON.parse(fs.readFileSync(FILE, 'utf8')) as Settings;

/** Node.js options of a process that runs test files. */
export const NODE_OPTIONS: readonly string[] = SETTINGS['node-option'].map((option) => `--${option}`);

export const MOCHA_OPTIONS = { timeout: SETTINGS.timeout, forbidOnly: SETTINGS['forbid-only'] };
