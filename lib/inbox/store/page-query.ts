import type { ListedState } from '../tally-rows';

/** A page of the messages of a period, in the order of their receipt. */
export interface PageQuery {
  state: ListedState;
  /** Received at or after this time, and before that one, in milliseconds since 1970. */
  since: number;
  until: number;
  /** The last of the page before. */
  after?: PlaceInTime;
  limit: number;
  /** With bodies, as far as there is room: what comes without is to be asked for with the next page. */
  bodies: boolean;
  /** With what has become of each beyond its usual course. */
  steps: boolean;
}

export interface PlaceInTime {
  received: number;
  sequence: number;
}
