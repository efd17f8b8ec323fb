/** The load generator, a process of its own: makes signed messages first, and sends them when told to. */
import { alarmMessage, signature } from '../../test/support/webhook/alarm-message';
import type { Flood, FloodReport, Order, Pace, PaceReport, Preparation } from './orders';
import { Sender } from './sender';

let requests: Buffer[] = [];

/** All that takes time without being sent or answered is done here. */
function prepare({ count, path, phrase }: Preparation): void {
  requests = Array.from({ length: count }, () => {
    const body = JSON.stringify(alarmMessage());
    const head = [
      `POST ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Content-Type: application/json; charset=utf-8',
      `Authorization: ${signature(body, phrase)}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
  });
}

/** As fast as answers come, over so many connections. */
async function flood({ port, connections }: Flood): Promise<FloodReport> {
  const senders = await connect(port, connections);
  const refused: Record<string, number> = {};
  const from = process.hrtime.bigint();
  await Promise.all(
    senders.map(async (sender) => {
      for (let request = requests.pop(); request !== undefined; request = requests.pop()) {
        note(refused, await sender.send(request));
      }
    }),
  );
  const until = process.hrtime.bigint();
  for (const sender of senders) sender.close();
  return { from, until, refused };
}

/** At fixed times, whether the answers come or not. */
async function pace({ port, rate }: Pace): Promise<PaceReport> {
  const idle = await connect(port, 32);
  const all = new Set(idle);
  const refused: Record<string, number> = {};
  const times: number[] = [];
  const from = performance.now();
  const total = requests.length;
  let sent = 0;
  const one = async (request: Buffer): Promise<void> => {
    // The one that has rested longest: a server closes a connection that it hears nothing of for some seconds.
    const sender = idle.shift() ?? (await Sender.connect(port));
    all.add(sender);
    const answer = sender.send(request);
    // Written to the kernel by now: a socket that is not full takes it at once.
    const at = performance.now();
    note(refused, await answer);
    times.push(performance.now() - at);
    idle.push(sender);
  };
  const underWay: Promise<void>[] = [];
  const failures: unknown[] = [];
  while (sent < total && failures.length === 0) {
    const due = Math.min(total, Math.floor(((performance.now() - from) * rate) / 1000));
    for (; sent < due; sent += 1) {
      const request = requests.pop();
      if (request === undefined) continue;
      const sending = one(request);
      underWay.push(sending);
      sending.catch((error: unknown) => failures.push(error));
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  }
  await Promise.all(underWay);
  for (const sender of all) sender.close();
  return { times, refused };
}

async function connect(port: number, count: number): Promise<Sender[]> {
  return Promise.all(Array.from({ length: count }, () => Sender.connect(port)));
}

function note(refused: Record<string, number>, status: number): void {
  if (status !== 200) refused[status] = (refused[status] ?? 0) + 1;
}

async function obey(order: Order): Promise<unknown> {
  if ('count' in order) return prepare(order);
  return 'rate' in order ? pace(order) : flood(order);
}

process.on('message', (order: Order) => {
  obey(order).then(
    (report) => process.send?.({ report }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
