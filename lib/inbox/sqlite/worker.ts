import { parentPort, workerData } from 'node:worker_threads';
import type { CallName, Reply, Request, StoreCalls } from './protocol';
import { Store } from './store';

/** The thread of a store: SQLite is synchronous, and a sync to the disk would stop all of Node-RED. */
function serve(port: NonNullable<typeof parentPort>, store: Store): void {
  const calls: { [Name in CallName]: (take: StoreCalls[Name]['take']) => StoreCalls[Name]['give'] } = {
    accept: (messages) => store.accept(messages),
    openEvents: ({ endpoint, after, limit }) => store.openEvents(endpoint, after, limit),
    lease: (deliveryIds) => store.lease(deliveryIds),
    release: (deliveryIds) => store.release(deliveryIds),
    settle: ({ deliveryIds, state }) => store.settle(deliveryIds, state),
    close: () => store.close(),
  };
  port.on('message', <Name extends CallName>({ id, name, take }: Request<Name>) => {
    port.postMessage(answer(id, () => calls[name](take)));
    if (name === 'close') port.close();
  });
}

function answer(id: number, work: () => unknown): Reply {
  try {
    return { id, give: work() };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : 'unknown error' };
  }
}

function main(): void {
  if (parentPort === null) return;
  let store: Store | undefined;
  const file = String(workerData);
  const opened = answer(0, () => {
    store = new Store(file);
  });
  parentPort.postMessage(opened);
  if (store === undefined) parentPort.close();
  else serve(parentPort, store);
}

main();
