import type { MessageState } from '../model';
import {
  type Brought,
  type CarriedMessage,
  type KeptMessage,
  type MessageKey,
  type NotedStep,
  type Progress,
  type StoreCalls,
} from '../store/port';
import { factsWithWarnings } from '../store/stored-message';
import type { KnownMessages } from './known-ids';
import { oneEvent, type Row, type Statements } from './statements';
import type { HistoryTable } from './tables';

/** The messages of a spare, on their way into the inbox. No transactions of its own. */
export class SpareRows {
  constructor(
    private readonly statements: Statements,
    private readonly known: KnownMessages,
    private readonly history: HistoryTable,
  ) {}

  kept(): KeptMessage[] {
    return this.statements.kept.all().map((row) => ({
      ...keyIn(row),
      deliveryId: String(row['delivery_id']),
      endpoint: String(row['endpoint']),
      state: String(row['state']) as MessageState,
      attempt: Number(row['attempt']),
      size: Number(row['size'] ?? 0),
      node: nodeIn(row),
    }));
  }

  carry({ after, limit }: StoreCalls['carry']['take']): CarriedMessage[] {
    return this.statements.carry.all(after, limit).map((row) => this.#carried(row));
  }

  remove(deliveryIds: readonly string[]): void {
    for (const id of deliveryIds) {
      const row = this.statements.keysOf.get(...oneEvent(this.statements, id));
      if (row === undefined) continue;
      const { sequence = null, id_key: key, alarm_key: alarm = null } = row;
      this.statements.deleteMessage.run(sequence);
      this.known.remove(Number(sequence), Number(key), alarm === null ? null : Number(alarm));
    }
  }

  moveNode({ node, endpoint }: StoreCalls['moveNode']['take']): void {
    // What came when its endpoint had no node.
    this.statements.renameNode.run(node, endpoint);
    this.statements.moveNode.run(node, endpoint);
  }

  giveNode({ from, node, endpoint }: StoreCalls['giveNode']['take']): void {
    this.statements.giveNode.run(node, endpoint, from);
  }

  doubt(deliveryIds: readonly string[]): void {
    for (const id of deliveryIds) {
      const [sequence] = oneEvent(this.statements, id);
      const facts = this.statements.body.get(sequence)?.['facts'];
      if (typeof facts === 'string')
        this.statements.setFacts.run(factsWithWarnings(facts, ['may-repeat']), sequence);
    }
  }

  #carried(row: Row): CarriedMessage {
    const { facts, bytes } = row;
    const deliveryId = String(row['delivery_id']);
    const carried = { sequence: Number(row['sequence']), deliveryId, node: nodeIn(row) };
    if (typeof facts !== 'string' || !(bytes instanceof Uint8Array)) return carried;
    const message: Brought['message'] = {
      ...keyIn(row),
      endpoint: String(row['endpoint']),
      node: nodeIn(row),
      // What has no place in the order of an alarm names none here.
      state: 'received',
      rank: row['rank'] === 1 ? 1 : 0,
      isEnd: row['is_end'] === 1,
      received: Number(row['received']),
      facts,
      bytes,
    };
    return { ...carried, brought: { message, deliveryId, progress: this.#progressIn(row) } };
  }

  #progressIn(row: Row): Progress {
    const { sequence, delivered = null, settled = null, settled_by: by = null } = row;
    const first: NotedStep[] =
      delivered === null ? [] : [{ time: Number(delivered), step: 'delivered', attempt: 1 }];
    const last: NotedStep[] =
      settled === null
        ? []
        : [{ time: Number(settled), step: 'settled', ...(by !== null && { by: String(by) }) }];
    const between = this.history.of(Number(sequence)).map(({ place: _place, ...step }) => step);
    return {
      state: String(row['state']) as MessageState,
      attempt: Number(row['attempt']),
      cutOff: Number(row['cut_off']),
      atFlow: row['at_flow'] === 1,
      again: (row['again'] ?? undefined) as Progress['again'],
      steps: [...first, ...between, ...last],
    };
  }
}

function keyIn(row: Row): MessageKey {
  const { station, id, named, fingerprint, alarm = null } = row;
  return {
    station: String(station),
    id: String(id),
    named: named === 1,
    fingerprint: String(fingerprint),
    ...(alarm !== null && { alarm: String(alarm) }),
  };
}

function nodeIn({ node, endpoint }: Row): string {
  return String(node ?? endpoint);
}
