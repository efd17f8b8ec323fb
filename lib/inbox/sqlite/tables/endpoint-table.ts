import type { StoreCalls } from '../../store/protocol';
import type { HistoryTable } from './history-table';
import type { Statements } from './statements';

/**
 * Which webhook node has which endpoint; or had, where it is deleted or disabled. The id of a node counts as an endpoint that
 * it had: what goes along waits there while nodes exchange their paths, and would be nobody's where this table is lost with a
 * damaged file.
 */
export class EndpointTable {
  /** @param moved told of an endpoint at which events wait now that were elsewhere */
  constructor(
    private readonly statements: Statements,
    private readonly history: HistoryTable,
    private readonly moved: (endpoint: string) => void,
  ) {}

  claim({ endpoint, node }: StoreCalls['claimEndpoint']['take']): number {
    this.statements.formerEndpoints.run(node, endpoint);
    this.statements.claimEndpoint.run(endpoint, node);
    const left = this.statements.endpointsLeft.all(node, node, endpoint);
    for (const row of left) this.#move(String(row['endpoint']), endpoint);
    this.statements.forgetFormer.run(node, endpoint);
    return this.#waitingAt(endpoint);
  }

  leave({ node }: StoreCalls['leaveEndpoint']['take']): void {
    this.statements.leaveEndpoint.run(node);
  }

  assign({ from, ...assigned }: StoreCalls['assign']['take']): number {
    const { to } = assigned;
    if (from !== to) this.history.assigned(from, assigned);
    this.#move(from, to);
    return this.#waitingAt(to);
  }

  open(): Record<string, number> {
    const rows = this.statements.openByEndpoint.all();
    return Object.fromEntries(rows.map((row) => [String(row['endpoint']), Number(row['count'])]));
  }

  #move(from: string, to: string): void {
    this.statements.moveOpen.run(to, from);
    this.statements.moveDead.run(to, from);
    this.statements.moveQuarantined.run(to, from);
    this.moved(to);
  }

  #waitingAt(endpoint: string): number {
    return Number(this.statements.waitingAt.get(endpoint)?.['count'] ?? 0);
  }
}
