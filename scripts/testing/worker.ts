/** A process that runs the ordered test files one after the other and reports their progress. */
import Mocha from 'mocha';
import { Agent, setGlobalDispatcher } from 'undici';
import { MOCHA_OPTIONS, type LastOrder, type News, type Order } from './test-process';

// No keep-alive: on a busy machine a request may reuse a connection that the server is just closing.
setGlobalDispatcher(new Agent({ pipelining: 0 }));

function send(news: News): void {
  process.send?.(news);
}

function titleOf(runnable: Mocha.Runnable): string {
  return runnable.titlePath().join(' › ');
}

/** The text of an error and of its causes. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.stack ?? error.message;
  return error.cause === undefined ? text : `${text}\nCaused by ${textOf(error.cause)}`;
}

class Teller extends Mocha.reporters.Base {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    runner.on('test', (test) => send({ kind: 'begins', title: titleOf(test) }));
    runner.on('hook', (hook) => send({ kind: 'begins', title: titleOf(hook) }));
    runner.on('pass', () => send({ kind: 'passed' }));
    runner.on('pending', (test) => send({ kind: 'skipped', title: titleOf(test) }));
    runner.on('fail', (test, error: unknown) =>
      send({ kind: 'failed', failure: { title: titleOf(test), error: textOf(error) } }),
    );
  }
}

async function run({ file, grep }: Order): Promise<void> {
  const mocha = new Mocha({ ...MOCHA_OPTIONS, grep, reporter: Teller });
  mocha.addFile(file);
  await mocha.loadFilesAsync();
  await new Promise<void>((resolve) => {
    mocha.run(() => resolve());
  });
  // Otherwise this instance would still catch errors of later files.
  mocha.dispose();
}

let isBusy = false;

async function obey(order: Order): Promise<void> {
  isBusy = true;
  try {
    await run(order);
  } catch (error) {
    send({ kind: 'failed', failure: { title: 'its loading', error: textOf(error) } });
  }
  isBusy = false;
  send({ kind: 'ended' });
}

/** Lets the process end by itself. After the given time it reports the open resources and exits with 1. */
function endWithin(seconds: number): void {
  process.disconnect();
  setTimeout(() => {
    process.stderr.write(`Still open: ${process.getActiveResourcesInfo().join(', ')}\n`);
    process.exit(1);
  }, seconds * 1000).unref();
}

// By default mocha would pass a test during which an unawaited promise rejects.
process.on('unhandledRejection', (reason) => {
  throw reason;
});
process.on('message', (order: Order | LastOrder) => {
  if ('endWithin' in order) endWithin(order.endWithin);
  else void obey(order);
});
// The test command has died: its tests are ended with all that they started.
process.on('disconnect', () => {
  if (isBusy) process.kill(process.platform === 'win32' ? process.pid : -process.pid, 'SIGKILL');
});
