import { CancelToken } from '../../../lib/concurrency/signals';
import { ProofThread } from '../../../lib/webhook/proof/proof-thread';

// A process that has nothing but a thread that waits for the next message.
const waiting = setInterval(() => undefined, 1000);
const message = { body: Buffer.from('nothing'), authorization: [] };
void new ProofThread().prove(message, [], new CancelToken()).then(({ proven }) => {
  clearInterval(waiting);
  process.stdout.write(`proven: ${proven}`);
});
