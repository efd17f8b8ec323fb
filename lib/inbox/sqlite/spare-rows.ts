import type { MessageState } from '../model';
import type { KeptMessage, MessageKey, SpareRecord, StoreCalls } from '../store/port';
import { factsWithWarnings } from '../store/stored-message';
import type { KnownMessages } from './known-ids';
import { oneEvent, type Row, type Statements } from './statements';

/** Bodies of a batch on its way, after which it takes no more. */
const MOST_BYTES = 8 * 1024 * 1024;

/** The messages of a spare, on their way into the inbox. No transactions of its own. */
export class SpareRows {
  constructor(
    private readonly statements: Statements,
    private readonly known: KnownMessages,
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

  carry({ after, limit }: StoreCalls['carry']['take']): SpareRecord[] {
    const records: SpareRecord[] = [];
    let bytes = 0;
    for (const row of this.statements.carry.iterate(after, limit)) {
      const steps = this.statements.history.all(row['sequence'] ?? null);
      const record = { ...row, steps } as unknown as SpareRecord;
      records.push(record);
      bytes += record.bytes?.byteLength ?? 0;
      if (bytes > MOST_BYTES) break;
    }
    return records;
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
