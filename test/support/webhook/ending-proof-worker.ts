import { parentPort } from 'node:worker_threads';
import type { ProofJob } from '../../../lib/webhook/proof/proof-thread';

/** In a body: the thread ends when it gets it, as for want of memory. */
const END = 'ends the thread that proves it';

parentPort?.on('message', ({ body }: ProofJob) => {
  if (Buffer.from(body).includes(END)) process.exit(1);
});
// Whatever is left is proven as ever.
require('../../../lib/webhook/proof/proof-worker');
