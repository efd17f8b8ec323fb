import type { ListedCamera } from '../../lib/device';

/** Data of the pickers, sent by the runtime to the dialogs. This file is used in the browser: it imports types only. */

/** A camera in a picker. */
export interface PickedDevice extends ListedCamera {
  name: string;
  /** Text of the service. */
  status: string;
  online: boolean;
}

/** A preset or tour of a camera. */
export interface PickedTarget {
  id: string;
  name: string;
}

/** A Central Station and its cloud as in the editor, with the credentials just typed. */
export interface StationDraft {
  station: Record<string, unknown>;
  cloud: Record<string, unknown>;
  credentials: Partial<Record<DraftCredential, string>>;
}

export const DRAFT_CREDENTIALS = ['username', 'password', 'apiKey', 'loginExtra'] as const;
type DraftCredential = (typeof DRAFT_CREDENTIALS)[number];
