/** How an inbox stands, as its store says. */
export interface InboxFigures {
  /** By endpoint at which events wait for their first delivery: milliseconds since the oldest of them was accepted, whatever the wall clock says. */
  oldest: Record<string, number>;
  /** By Central Station that has any: what a list of dead letters would show. */
  dead: Record<string, number>;
  /**
   * Of a database: whether a commit waits for another server, and that one answers. `none`: what is acknowledged is on one machine
   * alone. `away`: nothing can be stored.
   */
  standby?: 'there' | 'none' | 'away';
}
