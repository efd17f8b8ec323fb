/** What is known of a Central Station. */
export interface StationFacts {
  /** Its short name. */
  key: string;
  name: string;
  /** Of its service; `unknown` where it was not asked yet, but will be. */
  service: 'well' | 'unknown' | ServiceTrouble;
  /** Names of all that have one phrase, with its own; '' where it has one of its own, undefined where that cannot be said yet. */
  samePhrase: string | undefined;
  /** Milliseconds that the clock of the service is ahead of that of this machine; undefined where no answer has told. */
  clockAhead: number | undefined;
}

export interface ServiceTrouble {
  kind: 'unreachable' | 'login' | 'key' | 'unusable';
  since?: Date;
  /** One sentence, of the error. */
  reason: string;
}

/** What is known of a *webhook in*. */
export interface WebhookFacts {
  /** Of the node. */
  id: string;
  /** By which people know it. */
  title: string;
  /** Short name of the one Central Station it serves; null where it serves several. */
  station: string | null;
  /** Why nothing can come in by it: the sentence of its listener, or else what its status shows; undefined where it can. */
  down: { reason: string } | { status: string } | undefined | 'unknown';
  /** Messages were refused for a reason that a wrong phrase has, and nobody has looked at them. */
  isUnproven: boolean;
  /** True where the last proven message came from the future; undefined until one has come. */
  isClockBehind: boolean | undefined;
  /** Hours without a proven message that are too many, and when the last one came. */
  silent: { hours: number; since: string } | undefined | 'unknown';
  /** What the last self-tests have come to; undefined where there are none. */
  selfTest: 'well' | 'unknown' | { reason: string } | undefined;
}

/** What is known of an inbox. */
export interface InboxFacts {
  /** The same at each start. */
  id: string;
  /** By which people know it. */
  title: string;
  /** Undefined until it was first opened. */
  durable: boolean | undefined;
  /** Why it cannot store. */
  fault: string;
  /** What befell its file last, in a sentence, and how many milliseconds ago; undefined where nothing did. */
  incident: { text: string; ago: number } | undefined;
  /** Messages that are kept beside it. */
  spilled: number;
  /** True where the death of the database server would lose alarms; undefined where nobody knows yet. */
  lacksStandby: boolean | undefined;
  /** What it answers when it is asked; undefined until it has. */
  figures: InboxFigures | undefined;
}

export interface InboxFigures {
  /** By Central Station: dead letters that nobody has dealt with. */
  dead: Readonly<Record<string, number>>;
  /** Milliseconds that the oldest event has waited for its first delivery; absent where none waits. */
  oldestWaiting?: number;
  /** Events that wait at a path that no *webhook in* has, of whichever instance. */
  ownerless: readonly { path: string; count: number }[];
}

/** A camera of which there was no recording when it was last asked for. */
export interface VideoFacts {
  /** The same from one run to the next. */
  id: string;
  /** Short name of its Central Station. */
  station: string;
  /** As people know it, where an event has said; else its id. */
  camera: string;
  /** ISO 8601, UTC, with `Z`. */
  since: string;
}

/** All that a watch looks at. */
export interface Facts {
  stations: readonly StationFacts[];
  webhooks: readonly WebhookFacts[];
  inboxes: readonly InboxFacts[];
  videos: readonly VideoFacts[];
  /** False where pictures are to be made and there is no ffmpeg; undefined where nobody knows. */
  hasDecoder: boolean | undefined;
}
