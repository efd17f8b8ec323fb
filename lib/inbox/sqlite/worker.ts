import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import { StoreServer } from './store-server';
import { BATCH, type Request, type StoreThreadOptions, type ToStore } from './store-thread';

/** In milliseconds. */
const LOOK_EVERY = 1000;

interface WorkerData {
  file: string;
  /** Longer than a thread lives: the process had the file open in another one. */
  resumed: boolean;
  own: StoreThreadOptions;
}

/** What was sent while the last batch was under way goes together: a sync costs the same for one as for hundreds. */
function sentMeanwhile(port: MessagePort, first: ToStore): { batch: Request[]; isEnd: boolean } {
  const batch: Request[] = [];
  for (let order: ToStore | undefined = first; order !== undefined; order = nextOf(port)) {
    if (order === 'close') return { batch, isEnd: true };
    batch.push(...order.batch);
    if (batch.length >= BATCH) break;
  }
  return { batch, isEnd: false };
}

function nextOf(port: MessagePort): ToStore | undefined {
  return receiveMessageOnPort(port)?.message as ToStore | undefined;
}

if (parentPort !== null) {
  const port = parentPort;
  const { file, resumed, own } = workerData as WorkerData;
  const server = new StoreServer(file, resumed, (news) => port.postMessage(news), own);
  const looking = setInterval(() => server.look(), LOOK_EVERY);
  port.on('message', (first: ToStore) => {
    for (let order: ToStore | undefined = first; order !== undefined; order = nextOf(port)) {
      const { batch, isEnd } = sentMeanwhile(port, order);
      if (batch.length > 0) server.run(batch);
      if (!isEnd) continue;
      clearInterval(looking);
      server.close();
      port.close();
      return;
    }
    server.pause();
  });
}
