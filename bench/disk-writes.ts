import { CountingNodeRed, webhookInFlow } from './counting-node-red';
import { FilledInbox } from './filled-inbox';
import { handWiredFlow, KEEPING, keepingFlow } from './hand-wired-flow';
import { Load } from './load/load';
import type { Row, Scale } from './measurement';
import { sideBySide, spreadOf, type Spread } from './side-by-side';
import { bytesWritten, cpuOfMainThread, cpuOfWritingThread } from './process-figures';
import { deliveredPerSecond } from './webhook-rate';

interface Size {
  /** Events of a round. */
  events: number;
  /** Events in the other inbox before the first round. */
  stored: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { events: 5000, stored: 1_000_000, rounds: 5 },
  quick: { events: 500, stored: 5000, rounds: 1 },
};
const KIB = 1024;

/** B1c: what *webhook in* writes to the disk, and the CPU time of the thread that does, for each event of about 1 KiB. */
export async function bytesOfAnEvent(scale: Scale): Promise<Row[]> {
  const { events, stored, rounds } = SIZES[scale];
  const inbox = new FilledInbox();
  inbox.add(stored, 'delivered');
  inbox.close();
  const full = await CountingNodeRed.start(events, webhookInFlow(), { userDir: inbox.userDir });
  const ours = await CountingNodeRed.start(events, webhookInFlow());
  const keeping = await CountingNodeRed.start(events, keepingFlow(), {
    withoutPackage: true,
    settings: KEEPING,
  });
  const plain = await CountingNodeRed.start(events, handWiredFlow(), { withoutPackage: true });
  const load = new Load();
  const all = [full, ours, keeping, plain];
  try {
    const cpu = { ours: new Cpu(ours, cpuOfWritingThread), full: new Cpu(full, cpuOfWritingThread) };
    const byHand = { keeping: new Cpu(keeping, cpuOfMainThread), plain: new Cpu(plain, cpuOfMainThread) };
    const few = await sideBySide(rounds, {
      ours: () => cpu.ours.during(() => kibOfAnEvent(load, ours)),
      other: () => byHand.keeping.during(() => kibOfAnEvent(load, keeping)),
    });
    const many = await sideBySide(rounds, {
      ours: () => cpu.full.during(() => kibOfAnEvent(load, full)),
      other: () => cpu.ours.during(() => kibOfAnEvent(load, ours)),
    });
    await byHand.plain.during(() => kibOfAnEvent(load, plain));
    const keepingCpu = byHand.keeping.median - byHand.plain.median;
    return [
      row({
        measured: 'webhook in: KiB written to the disk for an event of 1 KiB',
        against: '-',
        figure: few.ours,
        unit: 'KiB',
        target: { atMost: 6 },
        seen: {
          byHandKiB: few.other.median,
          storeThreadMicroseconds: cpu.ours.median,
          keepingByHandMicroseconds: keepingCpu,
        },
      }),
      row({
        measured: `the same with ${stored.toLocaleString('en')} events stored`,
        against: 'with none but those of the rounds before',
        figure: many.ratio,
        unit: 'x',
        target: { atMost: 1.2 },
        seen: { fullKiB: many.ours.median, storeThreadMicroseconds: cpu.full.median },
      }),
    ];
  } finally {
    await load.stop();
    for (const { nodeRed } of all) await nodeRed.stopAndRemove();
  }
}

async function kibOfAnEvent(load: Load, server: CountingNodeRed): Promise<number> {
  const { pid, port } = server.nodeRed;
  const before = bytesWritten(pid);
  await deliveredPerSecond(load, server, port);
  return (bytesWritten(pid) - before) / server.count / KIB;
}

/** CPU time of one thread for each event of a round, in microseconds. */
class Cpu {
  readonly #rounds: number[] = [];

  /** @param read nanoseconds so far, of the thread that is meant, of a process */
  constructor(
    private readonly server: CountingNodeRed,
    private readonly read: (pid: number) => number,
  ) {}

  get median(): number {
    return spreadOf(this.#rounds).median;
  }

  async during<Result>(round: () => Promise<Result>): Promise<Result> {
    const { pid } = this.server.nodeRed;
    const before = this.read(pid);
    const result = await round();
    this.#rounds.push((this.read(pid) - before) / this.server.count / 1000);
    return result;
  }
}

function row(figures: Omit<Row, 'id'> & { figure: Spread }): Row {
  return { id: 'B1c', ...figures };
}
