/** What was salvaged of a file: so many open events, ids of others, and bodies of those. */
export interface Salvaged {
  open: number;
  ids: number;
  rest: number;
  /** Under which name the file is kept. */
  file: string;
}

/** Between these times messages came of which an inbox knows nothing, in milliseconds since 1970; absent what is not known. */
export interface LostTime {
  from?: number;
  to?: number;
}

/**
 * What befell the file of an inbox, of which a person has to know: alarms may be lost, or come twice.
 * - `moved`: file or log were removed or renamed while they were open, and are written anew;
 * - `found`: another file stood in its place, and what it alone had is taken in;
 * - `salvaged`: it was damaged, and a new one is made of what can be read of it;
 * - `restored`, `made-anew`: it is an older copy of the one that was here; or that was gone.
 */
export type FileIncident =
  | { kind: 'moved'; what: 'file' | 'log' }
  | ({ kind: 'found' } & Salvaged)
  | ({ kind: 'salvaged' } & Salvaged)
  | ({ kind: 'restored' | 'made-anew' } & LostTime);

/** What consumers are told of the inbox as a whole. `refuses`: it takes nothing any more, in the file or beside it; until it `takes`. */
export type Incident = FileIncident | { kind: 'refuses'; reason: string } | { kind: 'takes' };
