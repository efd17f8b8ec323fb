/** `npm run sandbox -- --port 8088`: runs the sandbox from a checkout. */
import { buildIfStale } from './build';

buildIfStale();
require('../dist/sandbox/cli.js');
