import { parentPort } from 'node:worker_threads';

// A thread that is at work for ever.
parentPort?.on('message', () => undefined);
