/** The sandbox on the command line, from a checkout: `npm run sandbox -- --port 8088`. */
import { buildIfStale } from './build';

buildIfStale();
require('../dist/sandbox/cli.js');
