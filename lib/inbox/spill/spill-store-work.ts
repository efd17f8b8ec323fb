import type { AcceptedAnywhere, Known, NewMessage, StoreCalls } from '../store/protocol';
import type { Frame } from './frame';
import type { Written } from './spill-file';
import type { SpilledMessage } from './spilled-message';

/** What a spill store is given to work with. */
export interface SpillStoreWork {
  /** Resolves when the frame is on the disk. @throws Error where it cannot be written */
  append(frame: Frame): Promise<Written>;
  /** False while it is not known what former processes have spilled. */
  isLoaded(): boolean;
  /** Of the alarms, as `alarmOf` names them, those of which the flow of an endpoint has an event at work. */
  atWork(endpoint: string): ReadonlySet<string>;
  /** More of an endpoint wait, or may go now. */
  waits(endpoint: string): void;
  /** One of a node is known that a former process had spilled. */
  restored(node: string): void;
  /** The node that an endpoint has, or had last. */
  nodeOf(endpoint: string): string | undefined;
  /** The endpoint that a node has, or had last. */
  endpointOf(node: string): string | undefined;
}

/** How a message is spilled. */
export interface Spill {
  message: NewMessage;
  lease: StoreCalls['accept']['take']['lease'];
  /** What the inbox knows of it; undefined where that cannot be read. */
  known: Known | undefined;
  /** The delivery id of its row, once it is known that the store took it after all. */
  late?: Promise<string | undefined>;
}

/** What `SpillStore.accept` gives. */
export type AcceptedBeside = AcceptedAnywhere & { spilled: SpilledMessage | undefined };
