import type { ListedCamera } from '../../lib/device';

/** What the pickers of the dialogs get from the runtime. Nothing here needs more than the language itself. */

/** A camera, as a picker shows it. */
export interface PickedDevice extends ListedCamera {
  name: string;
  /** As the service tells it. */
  status: string;
  online: boolean;
}

/** A preset or a tour of a camera. */
export interface PickedTarget {
  id: string;
  name: string;
}

/** A Central Station and its cloud as they stand in the editor, with credentials that were typed a moment ago. */
export interface StationDraft {
  station: Record<string, unknown>;
  cloud: Record<string, unknown>;
  credentials: Partial<Record<DraftCredential, string>>;
}

export const DRAFT_CREDENTIALS = ['username', 'password', 'apiKey', 'loginExtra'] as const;
type DraftCredential = (typeof DRAFT_CREDENTIALS)[number];
